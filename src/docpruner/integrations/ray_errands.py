"""What workers of a cluster are asked to do, and what is left to try when one of them is lost."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from docpruner.errors import PageError
from docpruner.pipeline.page_worker import PageTask, WorkerResult

AT_ONCE = 3  # errands that a worker has: one runs, one is being read, one is on its way
TRIES = 3  # of a page that was on a worker when it was lost


@dataclass(eq=False)
class Question:
    """Pages that were asked for together, and what has become of them so far."""

    tasks: Sequence[PageTask]
    answers: Future[list[WorkerResult]] = field(default_factory=Future)
    results: dict[int, WorkerResult] = field(default_factory=dict)

    def answer(self, places: Sequence[int], results: Sequence[WorkerResult]) -> None:
        self.results.update(zip(places, results, strict=True))
        if len(self.results) == len(self.tasks):
            self.answers.set_result([self.results[place] for place in range(len(self.tasks))])


@dataclass(eq=False)
class Errand:
    """Some pages of a question, by their places. One that is a second try goes alone."""

    question: Question
    places: Sequence[int]
    alone: bool = False
    losses: int = 0  # of workers, while it was alone

    @property
    def tasks(self) -> list[PageTask]:
        return [self.question.tasks[place] for place in self.places]


@dataclass(eq=False)
class Hired:
    """An actor, and what it has to do."""

    actor: Any
    loading: Any  # the promise of its facts; None when they have come
    errands: dict[Any, Errand] = field(default_factory=dict)

    def has_room(self, errand: Errand) -> bool:
        if self.loading is not None:
            return False
        if errand.alone:
            return not self.errands
        return len(self.errands) < AT_ONCE and not any(e.alone for e in self.errands.values())


def tried_again(errand: Errand) -> list[Errand]:
    """What is left to try of an errand whose worker was lost."""
    if not errand.alone:
        return [Errand(errand.question, [place], alone=True) for place in errand.places]
    losses = errand.losses + 1
    if losses < TRIES:
        return [Errand(errand.question, errand.places, alone=True, losses=losses)]
    (task,) = errand.tasks
    reason = f"ended its worker {losses} times"
    remedy = "leave it out, or try it on a machine with more memory"
    problem = PageError(task.document.name, reason, remedy, task.number)
    errand.question.answer(errand.places, [WorkerResult(problem)])
    return []
