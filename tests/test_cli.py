"""The command as a user runs it: real processes, real output."""

import json
import subprocess
import sys

import pytest

from docpruner.maxsim import kernels
from docpruner.reduce import STRATEGIES


def docpruner(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "docpruner", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_strategies_lists_every_strategy_with_its_grid():
    shown = docpruner("strategies")
    assert shown.returncode == 0
    for name in STRATEGIES:
        assert name in shown.stdout
    assert "k ∈ {-0.5, -0.25*, 0, 0.25, 0.5, 1}" in shown.stdout


def test_strategies_for_programs():
    listed = {
        entry["name"]: entry for entry in json.loads(docpruner("strategies", "--json").stdout)
    }
    assert list(listed) == list(STRATEGIES)
    (factor,) = listed["pool-2d"]["parameters"]
    assert factor["paper_grid"] == [4, 9, 16, 25]
    assert listed["attention-threshold"]["parameters"][0]["default"] is None


def test_doctor_names_the_kernel_in_use():
    findings = {f["what"]: f for f in json.loads(docpruner("doctor", "--json").stdout)}
    assert findings["MaxSim kernel"]["found"] == kernels().names[0]
    assert findings["MaxSim kernel"]["why"] == kernels().reason
    assert kernels().names[0] in docpruner("doctor").stdout


def test_doctor_says_how_to_install_what_is_missing():
    program = """
import sys
from docpruner import doctor
doctor._installed = lambda package: None  # as in an environment with the package alone
sys.argv = ["docpruner", "doctor"]
from docpruner.cli import main
main()
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert '→ pip install "docpruner[vlm]"' in done.stdout


@pytest.mark.parametrize("command", ["strategies", "doctor"])
def test_every_command_has_help_with_an_example(command):
    assert f"docpruner {command}" in docpruner(command, "--help").stdout.split("Example")[1]


def test_version_and_wrong_commands():
    assert docpruner("--version").stdout.startswith("docpruner 0.")
    wrong = docpruner("prunes")
    assert wrong.returncode == 2
    assert "No such command" in wrong.stderr
