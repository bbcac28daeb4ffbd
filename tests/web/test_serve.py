"""`docpruner serve` as a command."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from web.running import served

COMMAND = "from docpruner.cli import main; main()"


def failing(*arguments: str, program: str = COMMAND) -> str:
    """The one line that a command fails with."""
    environment = {k: v for k, v in os.environ.items() if k != "DOCPRUNER_TOKEN"}
    done = subprocess.run(
        [sys.executable, "-c", program, "serve", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        timeout=60,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    return done.stderr


def test_a_port_in_use_is_told(server, samples_index):
    error = failing(str(samples_index), "--port", str(server.port))
    assert f"port {server.port} is in use; choose another with --port" in error


def test_an_index_that_is_not_there_is_told(tmp_path):
    assert "holds no index" in failing(str(tmp_path / "none"))


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.7.7", "::", "example.org"])
def test_other_hosts_need_a_token(samples_index, host):
    assert "leave out --no-token" in failing(str(samples_index), "--host", host, "--no-token")


def test_without_options_only_who_knows_the_printed_address_gets_in(samples_index):
    tokens = set()
    for _ in range(2):
        with served(samples_index) as running:
            assert running.address == f"{running.url}/#token={running.token}"
            assert running.get("/api/documents").status_code == 200
            stranger = {"Authorization": ""}
            assert running.get("/api/documents", headers=stranger).status_code == 401
            assert running.get("/", headers=stranger).status_code == 200
            tokens.add(running.token)
    assert len(tokens) == 2
    assert all(len(token) >= 32 for token in tokens)


def test_no_token_lets_everyone_in(server):
    assert "token" not in server.line
    assert server.get("/api/documents").status_code == 200


@pytest.mark.parametrize("token", [None, "one of my own / 100%"])
def test_open_opens_the_page_with_its_token(samples_index, tmp_path, token):
    opened = tmp_path / "opened"
    browser = tmp_path / "xdg-open"
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" > "{opened}"\n')
    browser.chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    with served(samples_index, "--open", token=token, path=path) as running:
        assert running.get("/api/health").status_code == 200
        if token is None:
            assert opened.read_text() == running.address
        else:
            assert opened.read_text() == f"{running.url}/#token=one%20of%20my%20own%20%2F%20100%25"
            assert "token" not in running.line


def test_a_token_must_not_be_easy(samples_index):
    assert "too easy to guess" in failing(str(samples_index), "--token", "abc")
    assert "too easy to guess" in failing(str(samples_index), "--token", "abc" + 10 * " ")


def test_a_missing_extra_is_named(samples_index):
    without = "import importlib.util as u; u.find_spec = lambda name: None\n"
    error = failing(str(samples_index), program=without + COMMAND)
    assert 'serving needs the "web" extra: pip install "docpruner[web]"' in error


def test_help_has_an_example():
    done = subprocess.run(
        [sys.executable, "-m", "docpruner", "serve", "--help"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "docpruner serve reports.idx --open" in done.stdout


def test_ctrl_c_is_no_error(samples_index):
    running = served(samples_index)
    assert running.line.startswith(str(samples_index))
    assert running.get("/api/health").status_code == 200
    assert running.stop(signal.SIGINT) == (0, "")
