from __future__ import annotations

import signal

from hypothesis import settings

from postgres_server import postgres  # noqa: F401  # a fixture for the tests of several rooms

settings.register_profile("docpruner", deadline=None)  # a busy machine is no failure
settings.load_profile("docpruner")

# Programs started in the background without job control ignore Ctrl-C, and so would those that the
# tests start to send it to.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
