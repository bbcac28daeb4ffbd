"""A server over an index whose encoder is quick, or as slow as a test needs it."""

from __future__ import annotations

import argparse
import os
import resource

from docpruner.facade import Index
from docpruner.web import guard, server
from docpruner.web.app import make_app
from faults.words import WordEncoder


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("index")
    parser.add_argument("--allow-changes", action="store_true")
    parser.add_argument("--seconds", type=float, default=0.0, help="that a page takes")
    parser.add_argument("--max-upload", type=int, default=1_000_000)
    parser.add_argument("--impatient", action="store_true")
    parser.add_argument("--largest-file", type=int, help="bytes, as if the disk were full then")
    options = parser.parse_args()
    if options.impatient:
        server.IDLE_SECONDS = guard.BODY_SECONDS = 0.3
    index = Index.open(options.index, encoder=WordEncoder(options.seconds))
    app = make_app(
        index,
        allow_changes=options.allow_changes,
        max_upload=options.max_upload,
        token=os.environ.get("DOCPRUNER_TOKEN"),
    )
    if options.largest_file is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (options.largest_file, options.largest_file))
    listening = server.listen("127.0.0.1", 0)
    print(server.address_of(listening), flush=True)
    server.serve(app, listening)


if __name__ == "__main__":
    main()
