"""Spec strings: the full name of a reduction, as it is typed, printed and saved in an index.

docpruner:k=-0.25
docpruner:k=-0.25+sem-cluster:factor=2      prune, then merge
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches

from docpruner.errors import SpecError
from docpruner.reduce.keep import compose, reduced_page
from docpruner.reduce.strategy import STRATEGIES, Strategy, Value
from docpruner.types import PageEmbedding, Prompt, Reduction, Signal

_JOINT = re.compile(r"\+(?=\s*[a-z])")  # a plus before a name, not the one in 1e+1


@dataclass(frozen=True)
class Stage:
    """One strategy with all its parameters set."""

    strategy: Strategy
    values: tuple[tuple[str, Value], ...]

    def __call__(self, page: PageEmbedding) -> Reduction:
        return self.strategy.function(page, **dict(self.values))

    def __str__(self) -> str:
        shown = [
            f"{name}={_written(value)}"
            for name, value in self.values
            if self.strategy.parameters[name].always_shown
            or value != self.strategy.parameters[name].default
        ]
        return self.strategy.name + (":" + ",".join(shown) if shown else "")


@dataclass(frozen=True)
class Reducer:
    """A reduction of pages, named in full by `str()`: one strategy or several in a row."""

    stages: tuple[Stage, ...]

    def __call__(self, page: PageEmbedding) -> Reduction:
        first, *rest = self.stages
        reduction = first(page)
        for stage in rest:
            reduction = compose(reduction, stage(reduced_page(page, reduction)))
        return reduction

    def __str__(self) -> str:
        return "+".join(map(str, self.stages))

    def __reduce__(self) -> tuple[Callable[[str], Reducer], tuple[str]]:
        """Pickled as its spec: a strategy's own function can't be found again by its name."""
        return reducer, (str(self),)

    @property
    def sees_importance(self) -> bool:
        return any(stage.strategy.sees_importance for stage in self.stages)

    @property
    def prompt(self) -> Prompt:
        """The prompt that pages have to be encoded under."""
        prompts = {stage.strategy.prompt for stage in self.stages}
        return "noise-filtering" if "noise-filtering" in prompts else "default"

    @property
    def signal(self) -> Signal:
        """What its pages have to be important by."""
        named = {dict(stage.values).get("signal") for stage in self.stages}
        return "centrality" if "centrality" in named else "global-token"


def reducer(spec: str) -> Reducer:
    """The reduction that `spec` names. Errors list what exists."""
    return Reducer(tuple(_stage(part.strip(), spec) for part in _JOINT.split(spec)))


def _stage(text: str, spec: str) -> Stage:
    name, colon, parameters = text.partition(":")
    strategy = STRATEGIES.get(name.strip())
    if strategy is None:
        close = get_close_matches(name, STRATEGIES, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise SpecError(
            f"no strategy {name!r} in {spec!r}.{hint} There are: {', '.join(STRATEGIES)}"
        )
    if colon and not parameters.strip():
        raise SpecError(f"{text!r} ends with a colon; write {name} or {name}:parameter=value")
    given: dict[str, str] = {}
    for item in parameters.split(",") if colon else ():
        key, equals, value = (part.strip() for part in item.partition("="))
        if not (key and equals and value):
            raise SpecError(f"{item!r} in {spec!r} is not parameter=value")
        if key in given:
            raise SpecError(f"{key} is given twice in {text!r}")
        given[key] = value
    return Stage(strategy, tuple(strategy.read(given).items()))


def _written(value: Value) -> str:
    """A number as short as it can be written and still be read back exactly."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
