"""One encoder on several devices, each with a process of its own, used as one encoder.

A batch goes to the process that has least to do. Who asks gets a promise, and collects the results
in the order in which the batches were given, so that what is stored doesn't depend on the devices.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
import weakref
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from docpruner.encoders.encoder_name import Reads
from docpruner.encoders.model_options import ModelOptions
from docpruner.encoders.page_images import page_image, page_name
from docpruner.encoders.steps import Pending
from docpruner.errors import DeviceError, EncoderError
from docpruner.types import FloatArray, Page, PageEmbedding, Prompt

if TYPE_CHECKING:
    from PIL.Image import Image

AT_ONCE = 2  # batches that a process has: one runs, one is being prepared


class DevicePool:
    """An encoder, loaded on each of `options.devices`. `close` ends its processes."""

    def __init__(self, name: str, options: ModelOptions, *, prompt: Prompt | None = None) -> None:
        self._changed = threading.Condition()
        self._workers: list[_Worker] = []
        try:
            for device in options.devices:
                given = replace(options, device=device, devices=())
                self._workers.append(_Worker(device, self._changed))
                self._workers[-1].begin((name, given, prompt))
            abouts = [worker.about() for worker in self._workers]
        except BaseException:
            self.close()
            raise
        first = abouts[0]
        self.name: str = first["name"]
        self.dim: int = first["dim"]
        self.prompt: Prompt = first["prompt"]
        self.reads: Reads = first["reads"]
        self.pixels: int | None = first["pixels"]
        for worker, about in zip(self._workers, abouts, strict=True):
            if about["name"] != self.name:
                self.close()
                raise EncoderError(
                    f"{worker.device} would run {about['name']}, {self._workers[0].device} "
                    f"{self.name}; give a dtype that both have"
                )

    @property
    def batch_size(self) -> int:
        return min(worker.batch_size for worker in self._workers)

    def query_words(self, text: str) -> list[str]:
        return self._ask("query_words", text).result()  # type: ignore[no-any-return]

    def encode_pages(self, pages: Sequence[Page | Image]) -> list[PageEmbedding]:
        prepared, size = self.prepare(pages), self.batch_size
        starts = range(0, len(prepared), size)
        pending = [self.run(prepared[start : start + size]) for start in starts]
        return [embedding for collect in pending for embedding in collect()]

    def encode_plain(self, pages: Sequence[Page | Image]) -> list[FloatArray]:
        return self._ask("encode_plain", self.prepare(pages)).result()  # type: ignore[no-any-return]

    def encode_queries(self, texts: Sequence[str]) -> list[FloatArray]:
        return self._ask("encode_queries", list(texts)).result()  # type: ignore[no-any-return]

    def prepare(self, pages: Sequence[Page | Image]) -> list[Page | Image]:
        """Only drawn here: image processing takes place in the process of the device."""
        return [
            Page(page_name(page, number), _Picture(page_image(page)))
            for number, page in enumerate(pages)
        ]

    def run(self, prepared: list[Page | Image]) -> Pending:
        """Waits until a device has room for one more batch, not for its results."""
        return self._ask("encode_pages", prepared).result

    def close(self) -> None:
        for worker in self._workers:
            worker.close()

    def _ask(self, method: str, argument: Any) -> Future[Any]:
        with self._changed:
            self._changed.wait_for(lambda: min(map(len, self._workers)) < AT_ONCE)
            return min(self._workers, key=len).ask((method, argument))


class _Picture:
    """What `render` of a page is where the page has to be pickled."""

    def __init__(self, image: Image) -> None:
        self._image = image

    def __call__(self) -> Image:
        return self._image


class _Worker:
    """A process, and the promises that it has yet to keep, in their order."""

    def __init__(self, device: str, changed: threading.Condition) -> None:
        self.device, self._changed = device, changed
        self.batch_size = 1
        self._promises: deque[Future[Any]] = deque()
        self._dead = ""  # how it ended, if it did
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "docpruner.encoders.device_worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(p or os.getcwd() for p in sys.path)},
            start_new_session=True,  # out of the way of the terminal's Ctrl-C
        )
        self.close = weakref.finalize(self, _end, self._process)

    @property
    def pid(self) -> int:
        return self._process.pid

    def __len__(self) -> int:
        """What it has to do; one that is dead says so at once."""
        return 0 if self._dead else len(self._promises)

    def begin(self, settings: tuple[str, ModelOptions, Prompt | None]) -> None:
        self._loading: Future[Any] = Future()
        self._promises.append(self._loading)
        self._send(settings)
        listening = threading.Thread(
            target=_listen, args=(weakref.ref(self), self._process), daemon=True
        )
        listening.start()

    def about(self) -> dict[str, Any]:
        """What it has loaded; an EncoderError if it could not."""
        about: dict[str, Any] = self._loading.result()
        self.batch_size = about["batch_size"]
        return about

    def ask(self, request: tuple[str, Any]) -> Future[Any]:
        """With the lock held."""
        promise: Future[Any] = Future()
        if self._dead:
            promise.set_exception(DeviceError(self._dead))
            return promise
        self._promises.append(promise)
        self._send(request)
        return promise

    def _send(self, message: Any) -> None:
        with suppress(OSError, ValueError):  # dead, which is heard where answers are
            stream = cast(BinaryIO, self._process.stdin)
            pickle.dump(message, stream)
            stream.flush()

    def heard(self, kind: str, value: Any) -> None:
        with self._changed:
            promise = self._promises.popleft()
            if kind == "done":
                value, self.batch_size = value
            self._changed.notify_all()
        if kind in ("ready", "done"):
            promise.set_result(value)
        elif kind == "refused":
            promise.set_exception(EncoderError(value))
        else:
            promise.set_exception(DeviceError(f"the encoder on {self.device} failed: {value}"))

    def ended(self, code: int) -> None:
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        with self._changed:
            self._dead = (
                f"the encoder process on {self.device} has ended ({how}); what was committed is "
                "safe, run the same command again"
            )
            promises = list(self._promises)
            self._promises.clear()
            self._changed.notify_all()
        for promise in promises:
            promise.set_exception(DeviceError(self._dead))


def _listen(worker: weakref.ref[_Worker], process: subprocess.Popen[bytes]) -> None:
    """Holds no reference to the worker while it waits, or it would never be collected."""
    with suppress(EOFError, OSError, ValueError, pickle.UnpicklingError):
        while True:
            kind, value = pickle.load(cast(BinaryIO, process.stdout))
            there = worker()
            if there is None:
                return
            there.heard(kind, value)
            del there
    cast(BinaryIO, process.stdout).close()
    code = process.wait()
    there = worker()
    if there is not None:
        there.ended(code)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    with suppress(OSError):  # what was not written can't be any more
        cast(BinaryIO, process.stdin).close()
