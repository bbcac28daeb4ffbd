"""A set of shards held by a Ray cluster: each by an actor, in memory that is its machine's.

Ray starts an actor that is lost again, with its machine on another one, and there it opens its
shard from where it is stored. So that is where all machines can read it, unless the list of shards
says which machine alone can.
"""

from __future__ import annotations

import itertools
import os
import time
import warnings
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from importlib.metadata import version
from typing import Any, NamedTuple
from uuid import uuid4

from docpruner.errors import ClusterError, DocPrunerError
from docpruner.integrations.ray_cluster import imported_ray, joined
from docpruner.stores.contract import Reader, Store
from docpruner.stores.locations import open_store
from docpruner.stores.shards.moments import Call, Facts
from docpruner.stores.shards.shard_list import Shard, ShardList
from docpruner.stores.shards.sharded import ShardedStore

STARTING = 120.0  # seconds that an actor has for its first answer, of which Ray takes some itself
PAUSE = 0.1  # seconds until a lost actor is asked again
RESTARTED = "it was lost while it was being read; ask again"


class Answer(NamedTuple):
    value: Any
    warned: Sequence[tuple[type[Warning], str]]  # which nobody would see where it runs


class ShardActor:
    """One shard, in a process of the cluster. It does one thing at a time, on all cores."""

    def __init__(self, location: str) -> None:
        os.environ.pop("OMP_NUM_THREADS", None)  # 1, as Ray takes it to need no processor
        self._location = location
        self._store: Store | None = None
        self._moments: dict[int, tuple[ExitStack, Reader]] = {}
        self._start = uuid4().hex
        self._seen: Hashable = None
        self._changes = 0

    def package(self) -> str:
        return version("docpruner")

    def begin(self, moment: int, known: Hashable) -> Answer:
        """Its facts, or the reason why it can't be read: then the next one tries again."""
        return _answer(lambda: self._begun(moment, known))

    def _begun(self, moment: int, known: Hashable) -> Facts | str:
        stack = ExitStack()
        try:
            if self._store is None:
                self._store = open_store(self._location)
            reader = stack.enter_context(self._store.reader())
            facts = Facts.of(reader, self._version(reader), known)
        except (DocPrunerError, OSError) as error:
            stack.close()
            return str(error)
        self._moments[moment] = (stack, reader)
        return facts

    def _version(self, reader: Reader) -> Hashable:
        """One that can be compared elsewhere too, and is another one after every start."""
        if reader.version != self._seen:
            self._seen = reader.version
            self._changes += 1
        return (self._start, self._changes)

    def ask(self, moment: int, calls: Sequence[Call]) -> Answer | None:
        """None if the moment was lost with the process that it began in."""
        if moment not in self._moments:
            return None
        _, reader = self._moments[moment]
        return _answer(lambda: [call.of(reader) for call in calls])

    def end(self, moment: int) -> None:
        stack, _ = self._moments.pop(moment, (None, None))
        if stack is not None:
            stack.close()


def _answer(work: Callable[[], Any]) -> Answer:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        value = work()
    return Answer(value, [(each.category, str(each.message)) for each in caught])


class RayMoment:
    far = True

    def __init__(self, shards: RayShards, number: int, known: Mapping[int, Hashable]) -> None:
        self._shards, self._number = shards, number
        begun, self.missing = shards.begin(number, known)
        self.facts: dict[int, Facts] = {}
        for shard, facts in begun.items():
            if isinstance(facts, Facts):
                self.facts[shard] = facts
            else:
                self.missing[shard] = facts

    def ask(self, calls: Mapping[int, Sequence[Call]]) -> dict[int, list[Any]]:
        there = {shard: each for shard, each in calls.items() if shard not in self.missing}
        answers, lost = self._shards.ask(self._number, there)
        self.missing.update(lost)
        return answers


class RayShards:
    """The actors, one for each shard, which end with this process or when it closes them."""

    def __init__(self, listed: ShardList) -> None:
        self._listed = listed
        self._ray: Any = imported_ray()
        self._numbers = itertools.count()
        _join(self, listed.address)
        self._actors: list[Any] = []
        try:
            self._start()
            self._welcome()
        except BaseException:
            self.close()
            raise

    def _start(self) -> None:
        """One machine after another. A machine is no more than preferred, so that they can be
        started again on others."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        nodes = sorted(node["NodeID"] for node in self._ray.nodes() if node["Alive"])
        for shard, node in zip(self._listed.shards, itertools.cycle(nodes), strict=False):
            where = "DEFAULT" if shard.node else NodeAffinitySchedulingStrategy(node, soft=True)
            self._actors.append(self._actor(shard, where))

    def _actor(self, shard: Shard, where: Any) -> Any:
        remote = self._ray.remote(
            num_cpus=0,  # or else those of a lost machine would find no room on the others
            memory=1,  # a byte; an actor that needs nothing is put anywhere, whatever is preferred
            resources={f"node:{shard.node}": 0.001} if shard.node else {},
            scheduling_strategy=where,
            max_restarts=-1,
            max_task_retries=0,  # so that a lost one is known to be; it is asked again from here
        )
        return remote(ShardActor).remote(shard.location)

    def _welcome(self) -> None:
        asking = {shard: actor.package.remote for shard, actor in enumerate(self._actors)}
        packages, _ = self._answers(asking, STARTING, again=True)
        own = version("docpruner")
        for package in packages.values():
            if package != own:
                raise ClusterError(
                    f"a machine of the cluster has docpruner {package}, this one {own}; install "
                    "the same version on all of them"
                )

    @contextmanager
    def moment(self, known: Mapping[int, Hashable]) -> Iterator[RayMoment]:
        number = next(self._numbers)
        try:
            yield RayMoment(self, number, known)
        finally:
            for actor in self._actors:
                actor.end.remote(number)

    def begin(
        self, number: int, known: Mapping[int, Hashable]
    ) -> tuple[dict[int, Any], dict[int, str]]:
        """A shard that is being started again is waited for, unless answers may be partial; and
        then too if there is no other: an answer without any shard is none."""
        asking = {
            shard: lambda actor=actor, shard=shard: actor.begin.remote(number, known.get(shard))
            for shard, actor in enumerate(self._actors)
        }
        until = time.monotonic() + self._listed.timeout
        answers, lost = self._answers(asking, self._listed.timeout, again=not self._listed.partial)
        if not answers and time.monotonic() < until:
            answers, lost = self._answers(asking, until - time.monotonic(), again=True)
        return {shard: _told(answer) for shard, answer in answers.items()}, lost

    def ask(
        self, number: int, calls: Mapping[int, Sequence[Call]]
    ) -> tuple[dict[int, list[Any]], dict[int, str]]:
        asking = {
            shard: lambda shard=shard, each=each: self._actors[shard].ask.remote(number, each)
            for shard, each in calls.items()
        }
        answers, lost = self._answers(asking, self._listed.timeout)
        lost |= {shard: RESTARTED for shard, answer in answers.items() if answer is None}
        told = {shard: _told(each) for shard, each in answers.items() if each is not None}
        return told, lost

    def _answers(
        self, asking: Mapping[int, Callable[[], Any]], seconds: float, *, again: bool = False
    ) -> tuple[dict[int, Any], dict[int, str]]:
        """What the shards say that are asked, and why the others don't."""
        until = time.monotonic() + seconds
        answers: dict[int, Any] = {}
        lost: dict[int, str] = {}
        waiting = {ask(): shard for shard, ask in asking.items()}
        while waiting:
            left = max(0.0, until - time.monotonic())
            ready, _ = self._ray.wait(list(waiting), num_returns=1, timeout=left)
            if not ready:
                lost |= dict.fromkeys(waiting.values(), f"no answer in {seconds:.3g} s")
                break
            shard = waiting.pop(ready[0])
            try:
                answers[shard] = self._ray.get(ready[0])
            except self._ray.exceptions.RayTaskError as error:
                raise _cause(self._listed.shards[shard], error) from error
            except self._ray.exceptions.RayError as error:
                if again and time.monotonic() < until:
                    time.sleep(PAUSE)
                    waiting[asking[shard]()] = shard
                else:
                    lost[shard] = _reason(error)
        return answers, lost

    def close(self) -> None:
        for actor in self._actors:
            with suppress(Exception):  # it may be gone, or the cluster
                self._ray.kill(actor)
        _leave(self)


class RayStore(ShardedStore):
    @classmethod
    def open(cls, location: str) -> ShardedStore:
        listed = ShardList.read(location)
        return RayStore(listed, RayShards(listed))


def _told(answer: Answer) -> Any:
    for kind, text in answer.warned:
        warnings.warn_explicit(text, kind, __file__, 0)
    return answer.value


def _cause(shard: Shard, error: Any) -> BaseException:
    """What was raised by the shard, if it is ours."""
    cause = error.cause
    if isinstance(cause, DocPrunerError):
        return cause
    return ClusterError(f"the shard {shard.location} failed: {cause!r}")


def _reason(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


_using: set[RayShards] = set()  # the cluster that was joined for them; the last of them leaves it
_ours = False


def _join(shards: RayShards, address: str) -> None:
    global _ours
    _ours = joined(f"ray://{address}" if address else None) or _ours
    _using.add(shards)


def _leave(shards: RayShards) -> None:
    global _ours
    _using.discard(shards)
    if _ours and not _using:
        _ours = False
        imported_ray().shutdown()
