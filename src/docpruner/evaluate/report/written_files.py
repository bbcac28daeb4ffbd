"""Everything that an evaluation leaves in a folder: tables, figures and the report."""

from __future__ import annotations

from pathlib import Path

from docpruner.errors import MissingExtraError
from docpruner.evaluate.measuring.encoded import EncodedData
from docpruner.evaluate.measuring.results import Results
from docpruner.evaluate.report.html_report import write_report
from docpruner.evaluate.report.page_examples import examples

DPI = 200


def write_all(encoded: EncodedData, results: Results, folder: Path) -> Path:
    """Write results.json, results.csv, figures/ and report.html, whose path is returned."""
    results.save(folder)
    figures = draw_all(results, folder / "figures")
    return write_report(results, folder, figures, examples(encoded, results))


def draw_all(results: Results, folder: Path) -> dict[str, Path]:
    """Draw every figure that the results can fill; its name leads to an SVG, with a PNG beside it.

    The same results give the same files.
    """
    try:
        import matplotlib
    except ImportError:
        raise MissingExtraError("drawing figures", "eval") from None
    from docpruner.evaluate.report.curves import tradeoff, variants
    from docpruner.evaluate.report.line_styles import STYLE
    from docpruner.evaluate.report.page_charts import distribution, entropy, languages
    from docpruner.evaluate.report.storage_chart import storage

    folder.mkdir(parents=True, exist_ok=True)
    drawn: dict[str, Path] = {}
    with matplotlib.rc_context(STYLE):
        for draw in (tradeoff, storage, distribution, variants, languages, entropy):
            figure = draw(results)
            if figure is None:
                continue
            path = folder / f"{draw.__name__}.svg"
            figure.savefig(path, metadata={"Date": None, "Creator": None})
            figure.savefig(path.with_suffix(".png"), dpi=DPI, metadata={"Software": None})
            drawn[draw.__name__] = path
    return drawn
