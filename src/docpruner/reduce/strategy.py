"""The registry of strategies, read off the functions themselves.

A strategy is a function `(page, *, parameters) -> Reduction` under the `@strategy` decorator. Its
parameters' types, defaults, limits and grids stand in its signature as `Annotated[float,
Parameter(...)]`, so there is one place to read and one to change.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from typing import Annotated, Any, Literal, ParamSpec, get_args, get_origin, get_type_hints

from docpruner.errors import SpecError
from docpruner.types import PageEmbedding, Prompt, Reduction

Kind = Literal["base", "pruning", "adaptive pruning", "merging"]
Value = float | int | str

REQUIRED: Any = inspect.Parameter.empty


@dataclass(frozen=True)
class Parameter:
    """What a strategy's parameter may be, and the values the paper tried.

    `name`, `type`, `choices` and `default` are filled in from the signature.
    """

    help: str
    grid: tuple[Value, ...] = ()
    low: float = -math.inf
    high: float = math.inf
    square: bool = False
    name: str = ""
    type: type[Any] = str
    choices: tuple[str, ...] = ()
    default: Any = REQUIRED

    @property
    def always_shown(self) -> bool:
        """Whether the canonical spec prints it even at its default.

        The paper's own parameters, always; what we added, only when it is changed.
        """
        return bool(self.grid) or self.default is REQUIRED

    @property
    def accepts(self) -> str:
        """What a user may write, in words."""
        if self.choices:
            return " or ".join(self.choices)
        noun = "whole number" if self.type is int else "number"
        if self.square:
            noun = f"square {noun}"
        if math.isinf(self.low) and math.isinf(self.high):
            return f"a {noun}"
        if math.isinf(self.high):
            return f"a {noun} of at least {self.low:g}"
        return f"a {noun} from {self.low:g} to {self.high:g}"

    def read(self, value: object, strategy: str) -> Value:
        """`value`, which may be text, as this parameter's type; anything else is a SpecError."""
        wrong = SpecError(f"{strategy}: {self.name}={value!s} must be {self.accepts}")
        if self.choices:
            if value not in self.choices:
                raise wrong
            return str(value)
        try:
            number = _number(value) if self.type is int else float(value)  # type: ignore[arg-type]
        except (TypeError, ValueError, OverflowError):
            raise wrong from None
        if not self.low <= number <= self.high or abs(number) == math.inf:  # NaN fails too
            raise wrong
        if self.type is not int:
            return number
        if number != int(number) or (self.square and math.isqrt(int(number)) ** 2 != number):
            raise wrong
        return int(number)


def _number(value: Any) -> float:
    """An int as it is, however large; anything else as a float."""
    try:
        return int(value) if isinstance(value, str | int) else float(value)
    except ValueError:
        return float(value)  # 2.0 is a whole number too


@dataclass(frozen=True, eq=False)
class Strategy:
    """A registered strategy: its name in specs, its function and its parameters."""

    name: str
    kind: Kind
    function: Callable[..., Reduction]
    parameters: dict[str, Parameter]
    summary: str
    prompt: Prompt
    sees_importance: bool
    sees_vectors: bool  # if not, it can judge patches whose vectors are no longer there
    paper: bool  # whether it is one of those that the paper compares

    @property
    def thresholds(self) -> bool:
        """Whether it keeps what exceeds a threshold, which may turn out to be all or nothing."""
        return not self.parameters.keys().isdisjoint({"k", "threshold"})

    def read(self, given: dict[str, Any]) -> dict[str, Value]:
        """The full set of parameters from those given; errors list what exists."""
        for name in given:
            if name not in self.parameters:
                known = ", ".join(self.parameters) or "none"
                raise SpecError(f"{self.name} has no parameter {name!r}; it has: {known}")
        full: dict[str, Value] = {}
        for name, parameter in self.parameters.items():
            value = given.get(name, parameter.default)
            if value is REQUIRED:
                raise SpecError(
                    f"{self.name} needs {name} ({parameter.help}): write {self.name}:{name}=…"
                )
            full[name] = parameter.read(value, self.name)
        return full


STRATEGIES: dict[str, Strategy] = {}
"""Every strategy by its name in specs."""


P = ParamSpec("P")


def strategy(
    name: str,
    kind: Kind,
    *,
    prompt: Prompt = "default",
    sees_importance: bool = True,
    sees_vectors: bool = True,
    paper: bool = True,
) -> Callable[[Callable[P, Reduction]], Callable[P, Reduction]]:
    """Register a function under `name`, and check its parameters at every call.

    The first line of the docstring is what `docpruner strategies` prints. `prompt` is the page
    prompt the strategy is defined for; `sees_vectors` is false if importances and places are all
    it looks at, `sees_importance` if it does without that, `paper` if the paper doesn't compare it.
    """

    def register(function: Callable[P, Reduction]) -> Callable[P, Reduction]:
        entry = Strategy(
            name=name,
            kind=kind,
            function=function,
            parameters=_parameters(function),
            summary=(inspect.getdoc(function) or "").splitlines()[0],
            prompt=prompt,
            sees_importance=sees_importance,
            sees_vectors=sees_vectors,
            paper=paper,
        )
        STRATEGIES[name] = entry

        @wraps(function)
        def checked(page: PageEmbedding, **given: Any) -> Reduction:
            return function(page, **entry.read(given))  # type: ignore[arg-type]

        return checked  # type: ignore[return-value]  # the same signature, by @wraps

    return register


def _parameters(function: Callable[..., Reduction]) -> dict[str, Parameter]:
    hints = get_type_hints(function, include_extras=True)
    found = {}
    for name, argument in inspect.signature(function).parameters.items():
        if get_origin(hints[name]) is not Annotated:
            continue
        kind, parameter = get_args(hints[name])
        choices = get_args(kind)  # of a Literal; empty for a number
        found[name] = replace(
            parameter,
            name=name,
            type=str if choices else kind,
            choices=choices,
            default=argument.default,
        )
    return found
