"""All that a running server holds."""

from __future__ import annotations

from docpruner.facade import Index
from docpruner.web.drawings import Drawings
from docpruner.web.guard import Options
from docpruner.web.jobs import Jobs
from docpruner.web.lanes import Lanes
from docpruner.web.library import Library
from docpruner.web.whatif import WhatIfs


class Service:
    def __init__(self, index: Index, options: Options) -> None:
        self.options = options
        self.library = Library(index)
        self.lanes = Lanes()
        self.drawings = Drawings()
        self.whatifs = WhatIfs(self.library.store)
        self.jobs = Jobs(self.library)
        self.uploading = 0  # requests that are sending files
        self._open = True

    def warm_up(self) -> None:
        """What the first who asks would wait for."""
        self.library.warm_up()
        self.drawings.warm_up()

    def close(self) -> None:
        """What is being written is finished first."""
        if self._open:
            self._open = False
            self.jobs.close()
            self.drawings.close()
            self.library.close()
