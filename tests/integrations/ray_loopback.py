"""A Ray cluster that nobody outside can reach: in a network of its own that has loopback alone.

Its processes have a namespace too, so that none of them outlives the test, however that ends. Ray
asks for a token; each cluster has a new one.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Self

import docpruner

TESTS = Path(__file__).parent.parent
PACKAGE = Path(docpruner.__file__).parents[1]
APART = ["unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc", "--"]
HOLD = "ip link set lo up && echo ready && read"  # until its input ends, with whoever started it
HOST = "127.0.0.1"
PORT, CLIENT_PORT = 6379, 10001
S3_PORT = 28333  # of `files_at_s3`; outside the range of the workers' ports
S3_ACCESS = {
    "AWS_ENDPOINT_URL": f"http://{HOST}:{S3_PORT}",
    "AWS_ACCESS_KEY_ID": "somebody",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "AWS_REGION": "us-east-1",
}
STORE = 80_000_000  # bytes of shared memory of each node
PATIENCE = 120.0  # seconds after which a process counts as hanging


def why_not() -> str:
    """Why there can be no cluster here; empty if there can."""
    if not (shutil.which("unshare") and shutil.which("nsenter") and shutil.which("ip")):
        return "needs unshare, nsenter and ip (Debian: util-linux, iproute2)"
    tried = subprocess.run(
        [*APART, "ip", "link", "set", "lo", "up"], capture_output=True, text=True, check=False
    )
    return f"no network of its own is allowed here: {tried.stderr.strip()}" * bool(tried.returncode)


class Loopback:
    """A cluster of `nodes` machines with so many processors each, all of them this one."""

    def __init__(self, nodes: int = 2, processors: int = 1) -> None:
        self._processors = processors
        self.folder = tempfile.mkdtemp(prefix="dp-ray-", dir="/tmp")  # sockets need short names
        self.env = {
            **os.environ,
            "HOME": self.folder,
            "PYTHONPATH": os.pathsep.join([str(TESTS), str(PACKAGE), self.folder]),
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": secrets.token_hex(32),
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_ADDRESS": "",
            **S3_ACCESS,
        }
        self._bring_store()
        self._holder = subprocess.Popen(
            [*APART, "bash", "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._holder.stdout.readline() == "ready\n"
        (self._first,) = children_of(self._holder.pid)
        self._nodes: list[set[int]] = []
        for _ in range(nodes):
            self.add_node()

    def _bring_store(self) -> None:
        """One that several processes may write to, as another package would bring it."""
        described = Path(self.folder) / "turns-1.0.dist-info"
        described.mkdir()
        (described / "METADATA").write_text("Metadata-Version: 2.1\nName: turns\nVersion: 1\n")
        (described / "entry_points.txt").write_text(
            "[docpruner.stores]\nturns = integrations.turns_store:TurnsStore\n"
        )

    @property
    def address(self) -> str:
        return f"{HOST}:{PORT}"

    @property
    def client_address(self) -> str:
        return f"ray://{HOST}:{CLIENT_PORT}"

    def popen(self, *program: str | Path, **options: object) -> subprocess.Popen[str]:
        """A process inside, which is the only child of the one that is returned."""
        inside = ["nsenter", f"--target={self._first}", "--net", "--pid", "--mount", "--"]
        return subprocess.Popen(
            [*inside, *map(str, program)],
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **options,
        )

    def run(self, *program: str | Path) -> subprocess.CompletedProcess[str]:
        with self.popen(*program) as process:
            out, errors = process.communicate(timeout=PATIENCE)
        return subprocess.CompletedProcess(program, process.returncode, out, errors)

    def python(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        return self.run(sys.executable, *arguments)

    def add_node(self) -> None:
        before = self.pids()
        head = ["--head", f"--port={PORT}", "--include-dashboard=false", "--temp-dir", self.folder]
        where = [f"--address={self.address}"] if self._nodes else head
        sizes = [f"--num-cpus={self._processors}", f"--object-store-memory={STORE}"]
        done = self.python(
            *("-m", "ray.scripts.scripts", "start", f"--node-ip-address={HOST}", *where, *sizes)
        )
        assert done.returncode == 0, done.stdout + done.stderr
        self._nodes.append(self.pids() - before)

    def kill_node(self) -> set[int]:
        """All of the machine that joined last, at once; returns its processes."""
        node = {pid for pid in self._nodes[-1] if is_there(pid)}
        node = node.union(*(descendants_of(pid) for pid in node))
        kill(node)
        return node

    def replace_node(self) -> None:
        self._nodes.pop()
        self.add_node()

    def workers(self) -> list[int]:
        """The processes that make pages."""
        return [pid for pid in self.pids() if command_of(pid).startswith("ray::PageActor")]

    def pids(self) -> set[int]:
        own = namespace_of(self._first)
        numbers = (int(entry) for entry in os.listdir("/proc") if entry.isdigit())
        return {pid for pid in numbers if namespace_of(pid) == own}

    def close(self) -> None:
        self._holder.stdin.close()
        self._holder.stdout.close()
        self._holder.wait(PATIENCE)
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def kill(pids: Iterable[int]) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def is_there(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def namespace_of(pid: int) -> str:
    try:
        return os.readlink(f"/proc/{pid}/ns/pid")
    except OSError:
        return ""


def command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


def children_of(pid: int) -> set[int]:
    found: set[int] = set()
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):
                found.update(map(int, (task / "children").read_text().split()))
    return found


def descendants_of(pid: int) -> set[int]:
    children = children_of(pid)
    return children.union(*(descendants_of(child) for child in children))
