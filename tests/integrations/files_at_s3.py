"""A process that serves the files of a folder at `s3://bucket/files`, until its input ends.

python -m integrations.files_at_s3 FOLDER WORK
"""

from __future__ import annotations

import sys
from pathlib import Path

from pyarrow import fs

from integrations.ray_loopback import S3_PORT
from stores.s3_server import s3_server

BUCKET = "bucket"


def main() -> None:
    folder, work = map(Path, sys.argv[1:])
    with s3_server(work, port=S3_PORT) as server:
        server.make_bucket(BUCKET)
        system, _ = fs.FileSystem.from_uri(f"s3://{BUCKET}")
        for file in sorted(folder.iterdir()):
            with system.open_output_stream(f"{BUCKET}/files/{file.name}") as target:
                target.write(file.read_bytes())
        print("ready", flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
