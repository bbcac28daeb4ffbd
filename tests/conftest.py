from __future__ import annotations

from postgres_server import postgres  # noqa: F401  # a fixture for the tests of several rooms
