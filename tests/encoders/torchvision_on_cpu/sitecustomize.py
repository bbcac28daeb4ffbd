"""For processes that tests start: what conftest.py does for the tests themselves."""

import encoders.conftest  # noqa: F401
