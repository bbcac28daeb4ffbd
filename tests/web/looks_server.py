"""A server over an index of `ColourEncoder`."""

from __future__ import annotations

import sys

from docpruner.facade import Index
from docpruner.web import server
from docpruner.web.app import make_app
from web.looks import ColourEncoder


def main() -> None:
    app = make_app(Index.open(sys.argv[1], encoder=ColourEncoder()))
    listening = server.listen("127.0.0.1", 0)
    print(server.address_of(listening), flush=True)
    server.serve(app, listening)


if __name__ == "__main__":
    main()
