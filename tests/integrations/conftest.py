"""Sets torch up as for the encoders' tests."""

import encoders.conftest  # noqa: F401  # for what its import does
