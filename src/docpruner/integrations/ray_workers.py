"""Actors of a Ray cluster as the workers of an index.

One thread gives out the work and takes the answers. A worker that is lost, with its machine or
alone, is replaced, and the pages it had are tried again, each by itself on a worker that does
nothing else meanwhile: so a page that ends its worker is found out, and costs no other page.
"""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import suppress
from importlib.metadata import version
from typing import Any, Self

from docpruner.errors import ClusterError, DocPrunerError
from docpruner.integrations.ray_cluster import imported_ray, joined
from docpruner.integrations.ray_errands import AT_ONCE, Errand, Hired, Question, tried_again
from docpruner.pipeline.page_worker import (
    PageTask,
    PageWorker,
    WorkerFacts,
    WorkerJob,
    WorkerResult,
)

STARTS = 3  # workers lost one after another before any of them was ready
LOOK = 2.0  # seconds until the size of the cluster is asked for again
PATIENCE = 0.1  # seconds between two looks at what there is to give out


class PageActor:
    """A `PageWorker` in a process of the cluster."""

    def begin(self, job: WorkerJob) -> WorkerFacts:
        try:
            self._worker = PageWorker(job)
        except DocPrunerError as error:
            raise ClusterError(str(error)) from None  # which can be sent, whatever it was made of
        return self._worker.facts

    def make(self, tasks: Sequence[PageTask]) -> list[WorkerResult]:
        try:
            return self._worker.make(tasks)
        except DocPrunerError as error:
            raise ClusterError(str(error)) from None


class RayWorkers:
    """Workers on a Ray cluster, for `Index.add(…, workers=…)`.

    address: `auto` or None for the cluster that runs on this machine, or a new one if there is
        none; `host:6379` from a machine of the cluster; `ray://host:10001` from any.
    workers: how many at most; by default one for each processor or, with `gpus`, as many as there
        are GPUs for. Machines that join later are made use of too.
    gpus: that each worker takes, which may be a fraction; by default none.
    """

    def __init__(
        self, address: str | None = None, *, workers: int | None = None, gpus: float = 0
    ) -> None:
        self._limit, self._gpus = workers, gpus
        self._ray: Any = imported_ray()
        self._joined = joined(address)
        self._changed = threading.Condition()
        self._closed = True  # until a job begins
        self._failure: BaseException | None = None
        self._waiting: deque[Errand] = deque()
        self._hired: list[Hired] = []
        self._thread: threading.Thread | None = None

    def begin(self, job: WorkerJob) -> WorkerFacts:
        """Returns when one worker has loaded the encoder; the others follow."""
        self.end()
        self._failure, self._starts, self._looked = None, 0, 0.0
        self._room = self._room_for_workers()
        self._job = self._ray.put(job)
        self._facts: Future[WorkerFacts] = Future()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="docpruner-ray", daemon=True)
        self._thread.start()
        try:
            return self._facts.result()
        except BaseException:
            self.end()
            raise

    def ask(self, tasks: Sequence[PageTask]) -> Future[list[WorkerResult]]:
        question = Question(tasks)
        with self._changed:
            self._changed.wait_for(lambda: self._closed or len(self._waiting) < self._room)
            if self._closed:
                raise self._failure or _stopped()
            self._waiting.append(Errand(question, range(len(tasks))))
            self._changed.notify_all()
        return question.answers

    def end(self) -> None:
        """Let the workers go. The cluster stays joined, for another job."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def close(self) -> None:
        """Let the workers go, and leave the cluster if it was joined for them."""
        self.end()
        if self._joined:
            self._joined = False
            self._ray.shutdown()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # ------------------------------------------------------------------ the thread

    def _run(self) -> None:
        try:
            while not self._closed:
                self._hire()
                self._give_out()
                self._take()
        except BaseException as error:  # raised again where answers are waited for
            self._failure = error
        finally:
            with self._changed:
                self._closed = True
                self._fail(self._failure or _stopped())
                self._changed.notify_all()
            for hired in self._hired:
                self._dismiss(hired)
            self._hired.clear()

    def _fail(self, error: BaseException) -> None:
        under_way = [errand for hired in self._hired for errand in hired.errands.values()]
        for errand in [*self._waiting, *under_way]:
            if not errand.question.answers.done():
                errand.question.answers.set_exception(error)
        self._waiting.clear()
        if not self._facts.done():
            self._facts.set_exception(error)

    def _hire(self) -> None:
        """As many workers as there is room and work for, and one to begin with."""
        if time.monotonic() - self._looked > LOOK:
            self._room, self._looked = self._room_for_workers(), time.monotonic()
        work = len(self._waiting) + sum(len(hired.errands) for hired in self._hired)
        for _ in range(min(self._room, max(1, work)) - len(self._hired)):
            actor = self._actor_class().remote()
            self._hired.append(Hired(actor, actor.begin.remote(self._job)))

    def _actor_class(self) -> Any:
        remote = self._ray.remote(
            num_cpus=1, num_gpus=self._gpus, max_concurrency=AT_ONCE, max_restarts=0
        )
        return remote(PageActor)

    def _room_for_workers(self) -> int:
        """How many the cluster has room for."""
        total = self._ray.cluster_resources()
        kind, each = ("GPU", self._gpus) if self._gpus else ("CPU", 1)
        room = math.floor(float(total.get(kind, 0)) / each)
        if self._limit is not None:
            return self._limit  # also those that a cluster has yet to grow for
        if room < 1:
            raise ClusterError(
                f"the Ray cluster has {total.get(kind, 0):g} {kind}s, and a worker takes {each:g}; "
                "add a machine, or ask for less"
            )
        return room

    def _give_out(self) -> None:
        """In their order: while one that goes alone waits for an idle worker, the rest wait too."""
        with self._changed:
            while self._waiting:
                free = [hired for hired in self._hired if hired.has_room(self._waiting[0])]
                if not free:
                    return
                errand = self._waiting.popleft()
                hired = min(free, key=lambda each: len(each.errands))
                hired.errands[hired.actor.make.remote(errand.tasks)] = errand
                self._changed.notify_all()

    def _take(self) -> None:
        """What has been answered; waits a little if nothing has."""
        promises = [hired.loading for hired in self._hired if hired.loading is not None]
        promises += [promise for hired in self._hired for promise in hired.errands]
        ready, _ = self._ray.wait(promises, num_returns=1, timeout=PATIENCE)
        if not promises or not ready:
            return
        (promise,) = ready
        (hired,) = [each for each in self._hired if promise in (each.loading, *each.errands)]
        try:
            answer = self._ray.get(promise)
        except self._ray.exceptions.RayTaskError as error:
            raise _cause(error) from error
        except self._ray.exceptions.RayError as error:
            self._lose(hired, error)
            return
        if promise == hired.loading:
            self._welcome(hired, answer)
        else:
            errand = hired.errands.pop(promise)
            errand.question.answer(errand.places, answer)

    def _welcome(self, hired: Hired, facts: WorkerFacts) -> None:
        own = version("docpruner")
        if facts.version != own:
            raise ClusterError(
                f"a machine of the cluster has docpruner {facts.version}, this one {own}; install "
                "the same version on all of them"
            )
        hired.loading, self._starts = None, 0
        if not self._facts.done():
            self._facts.set_result(facts)

    def _lose(self, hired: Hired, error: BaseException) -> None:
        """Its pages are tried again, before all others."""
        self._hired.remove(hired)
        self._dismiss(hired)
        if hired.loading is not None:
            self._starts += 1
            if self._starts >= STARTS:
                raise ClusterError(f"no worker of the cluster gets ready: {error}")
        again = [each for errand in hired.errands.values() for each in tried_again(errand)]
        with self._changed:
            self._waiting.extendleft(reversed(again))

    def _dismiss(self, hired: Hired) -> None:
        with suppress(Exception):  # it may be gone, or the cluster
            self._ray.kill(hired.actor)


def _cause(error: Any) -> BaseException:
    """What was raised in the worker, if it is ours."""
    cause = error.cause
    if isinstance(cause, DocPrunerError):
        return cause
    return ClusterError(f"a worker of the cluster failed: {cause!r}")


def _stopped() -> ClusterError:
    return ClusterError("the workers were let go")
