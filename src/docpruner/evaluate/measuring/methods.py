"""What to compare: a reduction and a codec, and the settings that the paper tried."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import get_args

from docpruner.codecs import CODEC_NAMES, CodecName
from docpruner.errors import SpecError
from docpruner.reduce import STRATEGIES, Reducer, Stage, reducer
from docpruner.reduce.strategy import REQUIRED, Kind, Strategy
from docpruner.reduce.threshold import K_GRID
from docpruner.types import Signal

BASE_CODEC: CodecName = "float16"  # which the paper's storage is counted in
RATIOS = (0.1, 0.3, 0.5, 0.7, 0.9)  # where a global threshold is put, as the others' ratios are
SIGNAL_RATIOS = (*RATIOS, 0.8, 0.95)  # where attention is said to fall behind chance


@dataclass(frozen=True)
class Setting:
    """A way to store pages; `docpruner:k=-0.25@int8` as text."""

    reducer: Reducer
    codec: CodecName = BASE_CODEC

    def __str__(self) -> str:
        return str(self.reducer) + ("" if self.codec == BASE_CODEC else f"@{self.codec}")

    @property
    def spec(self) -> str:
        return str(self.reducer)

    @property
    def method(self) -> str:
        """The names of its strategies, without their parameters but for the signal."""
        return "+".join(map(_method, self.reducer.stages))

    @property
    def kind(self) -> Kind:
        """Of the stage that counts: a pipeline that merges is a merging one."""
        kinds = [stage.strategy.kind for stage in self.reducer.stages]
        return "merging" if "merging" in kinds else kinds[-1]


def _method(stage: Stage) -> str:
    by_centrality = dict(stage.values).get("signal") == "centrality"
    return stage.strategy.name + (":signal=centrality" if by_centrality else "")


BASE = Setting(reducer("none"))
DEFAULT = Setting(reducer("docpruner"))  # at the paper's k


def read_setting(text: str) -> Setting:
    spec, at, codec = text.rpartition("@")
    if not at:
        return Setting(reducer(text))
    if codec not in CODEC_NAMES:
        raise SpecError(f"{text!r}: there is no codec {codec!r}, only {', '.join(CODEC_NAMES)}")
    return Setting(reducer(spec), codec)


def read_methods(text: str, thresholds: tuple[float, ...], *, prompts: bool) -> list[Setting]:
    """`paper`, `all`, `signals`, or settings with commas between; the base always comes first.

    `signals` has the attention of the global token, centrality and chance side by side.

    A comma within a spec is told from one between two by what follows: a name and a colon, or a
    strategy. `thresholds` are what the strategies with a global threshold are tried with; `prompts`
    says whether pages can be encoded under the noise-filtering prompt too.
    """
    if text in ("paper", "all"):
        settings = [
            setting
            for strategy in STRATEGIES.values()
            if (prompts or strategy.prompt == "default") and (strategy.paper or text == "all")
            for setting in _grid(strategy, thresholds, crossed=text == "all")
        ]
    elif text == "signals":
        settings = [Setting(reducer(spec)) for spec in _signals()]
    else:
        settings = [read_setting(part) for part in _parts(text)]
    return [BASE, *(setting for setting in dict.fromkeys(settings) if setting != BASE)]


def _signals() -> Iterator[str]:
    for ratio in SIGNAL_RATIOS:
        yield f"random:ratio={ratio}"
    for signal in get_args(Signal):
        for ratio in SIGNAL_RATIOS:
            yield f"attention-ratio:ratio={ratio},signal={signal}"
        for k in K_GRID:
            yield f"docpruner:k={k},signal={signal}"


def _parts(text: str) -> list[str]:
    """Split at the commas after which a strategy's name stands."""
    parts: list[str] = []
    for piece in text.split(","):
        name = piece.strip().split(":")[0].split("+")[0].split("@")[0]
        if parts and ("=" in name or not name):
            parts[-1] += f",{piece}"
        else:
            parts.append(piece.strip())
    return parts


def _grid(strategy: Strategy, thresholds: tuple[float, ...], *, crossed: bool) -> list[Setting]:
    """A strategy at the paper's values: all combinations, or the first parameter's values with the
    others at their best, and each of the others' values with the first at its best."""
    grids = {
        name: parameter.grid or (thresholds if parameter.default is REQUIRED else ())
        for name, parameter in strategy.parameters.items()
    }
    grids = {name: grid for name, grid in grids.items() if grid}
    if crossed or len(grids) < 2:
        points = [dict(zip(grids, values, strict=True)) for values in product(*grids.values())]
    else:
        points = [{name: value} for name, grid in grids.items() for value in grid]
    return [Setting(reducer(_spec(strategy.name, point))) for point in points]


def _spec(name: str, values: Mapping[str, object]) -> str:
    written = ",".join(f"{key}={value}" for key, value in values.items())
    return name + (f":{written}" if written else "")
