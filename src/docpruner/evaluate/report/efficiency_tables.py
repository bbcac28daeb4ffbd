"""The report's tables of what is lost, saved and spent, beside what the paper measured."""

from __future__ import annotations

from docpruner.evaluate.measuring.latency import Latency
from docpruner.evaluate.measuring.methods import DEFAULT
from docpruner.evaluate.measuring.results import Results, SettingResult
from docpruner.evaluate.report import paper_figures as paper
from docpruner.evaluate.report.findings import ENOUGH, default_setting, smallest_enough
from docpruner.evaluate.report.wording import NBSP, change, milliseconds, percent, seconds, size

BENCHMARKS = {"vidore-v2": "ViDoRe-V2", "jinavdr": "JinaVDR"}


def efficiency(results: Results) -> list[tuple[str, list[str]]]:
    """The settings worth naming, then the paper's."""
    base = results.base
    chosen = [(base, "nothing pruned")]
    if (setting := default_setting(results)) is not None:
        chosen.append((setting, "default"))
    if (best := smallest_enough(results)) not in (base, setting):
        chosen.append((best, f"smallest with {percent(ENOUGH, 0)} of {results.measure_name}"))
    rows = []
    for setting, role in chosen:
        score, stored = f"{setting.score:.3f}", size(setting.stored_bytes)
        if setting is not base:
            if setting.relative is not None:
                score += f" ({change(setting.relative - 1, 2)})"
            stored += f" ({change(setting.stored_bytes / base.stored_bytes - 1)})"
        offline = "–" if setting is base else _offline(setting, results.latency)
        searched = percent(setting.search_time, 0)
        rows.append((f"`{setting.name}`, {role}", [score, stored, offline, searched]))
    return rows + _paper(results)


def _offline(setting: SettingResult, latency: Latency | None) -> str:
    """What was timed as a whole, as a share of encoding; else the reduction alone."""
    if latency is not None and latency.spec == setting.spec:
        return f"{change(latency.overhead, 2)} ({seconds(latency.pruned - latency.plain)} per page)"
    return f"{milliseconds(setting.reduce_ms)}{NBSP}ms per page to reduce"


def _paper(results: Results) -> list[tuple[str, list[str]]]:
    rows = []
    before = {(r.benchmark, r.model): r.ndcg for r in paper.REFERENCES if r.spec == "none"}
    other = ", nDCG@5" if results.measure != paper.MEASURE else ""
    for reference in paper.REFERENCES:
        if reference.spec != DEFAULT.spec:
            continue
        old = before[reference.benchmark, reference.model]
        ndcg = f"{old:.4f} → {reference.ndcg:.4f} ({change(reference.ndcg / old - 1, 2)})"
        on_vidore = reference.benchmark == "vidore-v2"
        longer = change(paper.LONGER[reference.model], 2) if on_vidore else "–"
        name = f"the paper, {reference.model} on {BENCHMARKS[reference.benchmark]}{other}"
        rows.append((name, [ndcg, change(-reference.pruned, 2), longer, "–"]))
    return rows


def encoding(latency: Latency) -> list[tuple[str, list[str]]]:
    """Each way to encode a page: seconds, against the plain one, pages, and the paper's seconds."""
    pages, plain = str(latency.pages), latency.plain
    longer = change(latency.importance / plain - 1)
    rows = [
        ("vectors only", [seconds(plain), "–", pages, seconds(paper.PLAIN)]),
        ("vectors and importance", [seconds(latency.importance), longer, pages, "–"]),
        (
            f"… and pruning, `{latency.spec}`",
            [
                *(seconds(latency.pruned), change(latency.overhead), pages),
                f"{seconds(paper.PRUNED)} ({papers_longer()})",
            ],
        ),
    ]
    papers = f"{seconds(paper.OCR)} (with BGE-M3)"
    by_ocr = ["not measured", "–", "–", papers]
    if latency.ocr is not None:
        against = f"{latency.ocr / plain:,.3g}{NBSP}times"
        by_ocr = [seconds(latency.ocr), against, str(latency.ocr_pages), papers]
    return [*rows, ("OCR, then the words alone", by_ocr)]


def papers_longer() -> str:
    """How much longer the paper's models take, from the least to the most."""
    least, most = min(paper.LONGER.values()), max(paper.LONGER.values())
    return f"{change(least, 0)} … {change(most, 0)}"
