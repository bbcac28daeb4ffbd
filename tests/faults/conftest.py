from __future__ import annotations

import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What was tried, of the tests that try many times: `make faults` is read for that."""
    for report in terminalreporter.getreports("passed"):
        for name, told in report.user_properties:
            if name == "tried":
                terminalreporter.write_line(f"{report.nodeid.rpartition('::')[2]}: {told}")
