"""Write the sample documents, with questions and the pages that answer them.

    python examples/make_samples.py [FOLDER]

Without a folder they go where the package ships them. Running it again gives the same bytes:
dates are fixed, there are no ids, and the grain of the scan has a fixed seed.
"""

from __future__ import annotations

import sys
from pathlib import Path

from samples import article, form, plan, questions, report, scan, slides

SHIPPED = Path(__file__).resolve().parent.parent / "src" / "docpruner" / "samples"
DOCUMENTS = {
    questions.REPORT: report.write,
    questions.SLIDES: slides.write,
    questions.ARTICLE: article.write,
    questions.FORM: form.write,
    questions.LETTER: scan.write,
    questions.PLAN: plan.write,
}


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, write in DOCUMENTS.items():
        write(folder / name)
    questions.write(folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else SHIPPED)
