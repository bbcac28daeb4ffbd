"""The report: one HTML file that needs nothing else, neither network nor scripts."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from docpruner.errors import MissingExtraError
from docpruner.evaluate.measuring.results import Results
from docpruner.evaluate.report.efficiency_tables import efficiency, encoding
from docpruner.evaluate.report.findings import default_setting
from docpruner.evaluate.report.page_examples import Example
from docpruner.evaluate.report.report_tables import (
    calculator,
    examples_of_size,
    lost_to,
    query_changes,
    rows,
    tiles,
)
from docpruner.evaluate.report.summary import summary
from docpruner.evaluate.report.wording import duration

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

NAME = "report.html"

# of each figure: heading, caption, what there is to see for those who can't; {measure} is the main
# one's name
CAPTIONS = {
    "tradeoff": (
        "Quality against vectors pruned",
        "Each point is a setting. Solid lines are adaptive methods, dashed lines the others; "
        "circles prune, squares merge. Where a method has several parameters, the line joins its "
        "best settings and the small dots are the rest. The band is the base's 95 % interval.",
        "Lines of {measure} against the share of patch vectors pruned, one for each method.",
    ),
    "storage": (
        "Quality against bytes",
        "Each point is a setting with its codec. The dark line joins those that nothing smaller "
        "beats; they are numbered, or ten of them if there are more.",
        "{measure} against the bytes stored per page, on a logarithmic axis, with the front.",
    ),
    "distribution": (
        "How much each page loses",
        "How many pages lose which share of their vectors, for each setting of docpruner. The "
        "dark stroke is the median page.",
        "A histogram of the share pruned from each page, for each k of docpruner.",
    ),
    "variants": (
        "What the adaptive threshold adds",
        "docpruner, simpler ways to prune by the same attention, and pruning at random, which "
        "none of them should fall below.",
        "Lines of {measure} against the share pruned for docpruner, its variants and random.",
    ),
    "languages": (
        "Languages",
        "{measure} of the queries in each language, before and after pruning.",
        "Two points for each language: {measure} of the base and of the pruned index.",
    ),
    "entropy": (
        "Do full pages keep more?",
        "Each point is a setting: how closely the share of its vectors that a page keeps follows "
        "the entropy of its attention. 1 is always, 0 not at all.",
        "Rank correlations of entropy with the share kept, as points in a row for each method.",
    ),
}


def write_report(
    results: Results,
    folder: Path,
    figures: Mapping[str, Path],
    examples: Sequence[Example] = (),
) -> Path:
    """Write `report.html`. Figures are taken from their SVG files into it."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / NAME
    setting = default_setting(results)
    page = _environment().get_template("report.html.j2").render(
        results=results,
        setting=setting,
        setting_name=setting.name if setting else "",
        languages=sorted(results.languages.items(), key=lambda item: -item[1]),
        took=duration(results.seconds),
        summary=summary(results),
        tiles=tiles(results),
        figures=[_figure(name, file, results) for name, file in figures.items()],
        rows=rows(results),
        efficiency=efficiency(results),
        encoding=encoding(results.latency) if results.latency else [],
        lost=lost_to(results),
        calculator=calculator(results),
        sizes=examples_of_size(results),
        changes=query_changes(results),
        examples=[(e.title, e.caption, _uri("image/png", e.png)) for e in examples],
    )  # fmt: skip
    path.write_text(page, encoding="utf-8")
    return path


def _figure(name: str, path: Path, results: Results) -> dict[str, str]:
    """As an image, so that ids in one figure don't meet those in another."""
    words = CAPTIONS.get(name, (name, "", name))
    title, caption, alt = (each.format(measure=results.measure_name) for each in words)
    uri = _uri("image/svg+xml", path.with_suffix(".svg").read_bytes())
    return {"name": name, "title": title, "caption": caption, "alt": alt, "uri": uri}


def _uri(kind: str, content: bytes) -> str:
    return f"data:{kind};base64,{b64encode(content).decode()}"


def _environment() -> Environment:
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError:
        raise MissingExtraError("the report", "eval") from None
    environment = Environment(
        loader=PackageLoader("docpruner.evaluate.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.policies["json.dumps_kwargs"] = {"sort_keys": False}
    environment.filters.update(code=_code, spec=_spec)
    return environment


def _spec(text: str) -> Markup:
    """As code, in lines that end after a comma, a plus or a colon."""
    from markupsafe import Markup

    parts = (Markup("<span>{}</span>").format(part) for part in re.split(r"(?<=[,+:])", text))
    return Markup("<code>{}</code>").format(Markup("<wbr>").join(parts))


def _code(text: str) -> Markup:
    """What stands in backticks as code, and everything escaped."""
    from markupsafe import Markup, escape

    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))
