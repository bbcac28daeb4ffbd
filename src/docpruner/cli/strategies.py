"""`docpruner strategies`."""

from __future__ import annotations

from typing import Any

from rich import box
from rich.table import Table

from docpruner.cli.output import JsonOption, console, print_json
from docpruner.cli.tables import print_table
from docpruner.reduce import STRATEGIES, Parameter, Strategy
from docpruner.reduce.strategy import REQUIRED


def show(json: JsonOption = False) -> None:
    """List the reduction strategies and their parameters.

    A strategy is named in full by a spec such as `docpruner:k=-0.25`; specs joined with `+` run one
    after another.

    Example: `docpruner strategies --json`
    """
    if json:
        print_json([_described(strategy) for strategy in STRATEGIES.values()])
        return
    table = Table(show_header=False, show_lines=True, box=box.HORIZONTALS, border_style="dim")
    table.add_column(no_wrap=True)
    table.add_column()
    for strategy in STRATEGIES.values():
        lines = [_written(parameter) for parameter in strategy.parameters.values()]
        name = f"[bold cyan]{strategy.name}[/]\n[dim]{strategy.kind}[/]"
        table.add_row(name, "\n".join([f"{strategy.summary}", *lines]))
    print_table(table)
    console().print("[dim]{…} is the paper's grid, * the default.[/]")
    console().print("[dim]Prune, then merge:[/] docpruner:k=-0.25+sem-cluster:factor=2")


def _written(parameter: Parameter) -> str:
    name = f"[green]{parameter.name}[/]"
    if parameter.choices:
        marked = [f"{c}*" if c == parameter.default else c for c in parameter.choices]
        return f"{name} = {' | '.join(marked)}"
    if parameter.default is REQUIRED:
        return f"{name}: to be given"
    if not parameter.grid:
        return f"{name} = {parameter.default:g}*"
    grid = [f"{v:g}*" if v == parameter.default else f"{v:g}" for v in map(float, parameter.grid)]
    return f"{name} ∈ {{{', '.join(grid)}}}"


def _described(strategy: Strategy) -> dict[str, Any]:
    return {
        "name": strategy.name,
        "kind": strategy.kind,
        "summary": strategy.summary,
        "prompt": strategy.prompt,
        "parameters": [
            {
                "name": parameter.name,
                "help": parameter.help,
                "accepts": parameter.accepts,
                "default": None if parameter.default is REQUIRED else parameter.default,
                "paper_grid": list(parameter.grid),
            }
            for parameter in strategy.parameters.values()
        ],
    }
