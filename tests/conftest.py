from __future__ import annotations

from hypothesis import settings

from postgres_server import postgres  # noqa: F401  # a fixture for the tests of several rooms

settings.register_profile("docpruner", deadline=None)  # a busy machine is no failure
settings.load_profile("docpruner")
