"""Every figure of a report, as SVG and PNG."""

from __future__ import annotations

from pathlib import Path

from docpruner.errors import MissingExtraError
from docpruner.evaluate.results import Results

DPI = 200


def draw_all(results: Results, folder: Path) -> dict[str, Path]:
    """Draw what the results can fill; each name leads to its SVG, beside which lies the PNG.

    The same results give the same files.
    """
    try:
        import matplotlib
    except ImportError:
        raise MissingExtraError("the figures", "eval") from None
    from docpruner.evaluate.curves import tradeoff, variants
    from docpruner.evaluate.looks import STYLE
    from docpruner.evaluate.page_charts import distribution, entropy, languages
    from docpruner.evaluate.storage_chart import storage

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
