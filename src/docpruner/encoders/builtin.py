"""The encoder that comes with the package: words of the text layer, each a vector at its place.

A small transformer (int8, on the CPU) reads the words of a page and gives one vector for each, and
how much the page's global token looks at it in the last layer. It sees no pictures: figures count
only by the words in and around them. English first; words that the model does not know are told
apart by their letters (`builtin_spelling`). There are editions of it (`builtin_editions`),
which share this code and differ in their files and a few constants.

**Long pages** are read in overlapping windows (`builtin_windows`), each with a global token of its
own. Attention in a window sums to one however long the window is, so it is multiplied by the
number of words that the window gives: 1 then means "as much as an average word of the window",
which is comparable across windows.

**Importance** is that attention, times what no window can see: the square root of how rare the word
is, and 1, 1/2, 1/3 … for its first, second, third time on the page, since MaxSim needs a word once.
It is scaled so that an average word of the page has 1.

**The title page** tells what the other pages of a document are part of: few of them name the
company or the product that a question asks about. So each gets the vectors of the words that stand
out on the first (`builtin_title`), as special tokens: they count in every score, stand nowhere on
the page, and are never pruned.

**Vectors** of one page are all equally long, and the shorter the more words it has: more words mean
more chances of a good match, so that MaxSim by itself prefers full pages. The rule is BM25's.

**Queries** carry weights: each vector is as long as its word counts (how rare the word is, times a
trained factor), which MaxSim, being linear in the query, takes as a factor. Don't normalise them.
"""

from __future__ import annotations

import hashlib
import json
import re
import warnings
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Literal

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

from docpruner.cores import usable_cores
from docpruner.encoders.builtin_editions import EDITIONS, NEWEST
from docpruner.encoders.builtin_rarity import Rarity, bare
from docpruner.encoders.builtin_spelling import Spelling, told_apart
from docpruner.encoders.builtin_title import standing_out
from docpruner.encoders.builtin_windows import Windows, stack
from docpruner.encoders.encoder_name import Reads
from docpruner.errors import EncoderError, NoWordsWarning
from docpruner.types import SPECIAL, FloatArray, IntArray, Page, PageEmbedding, Prompt, Word

if TYPE_CHECKING:
    from PIL.Image import Image

ARTEFACTS = Path(__file__).parent / "artefacts"
NAME = NEWEST.name  # of the edition that a new index gets
GRID = (32, 24)  # nominal: words have boxes, the grid only gives them a cell
WHOLE_PAGE = (0.0, 0.0, 1.0, 1.0)
LEAST = 0.05  # rarity of a sign, so that no query is all zeros
USUAL_RARITY = 5.0  # so that scores are of the order of the number of words
WINDOWS_AT_ONCE = 4  # bounds the memory of a page with thousands of words
TITLES = 8  # of documents whose pages are encoded at the same time

# As the text layer cuts pages: scripts without spaces into characters.
QUERY_WORD = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
    r"|[^\s\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+"
)


class BuiltinEncoder:
    """Encodes pages by their words; see the module's text.

    Pages are shared out over `threads` (all cores that this process may use, unless given).
    """

    def __init__(
        self, edition: str = NAME, *, threads: int | None = None, artefacts: Path = ARTEFACTS
    ) -> None:
        onnxruntime.disable_telemetry_events()
        self.edition = EDITIONS[edition]
        files, self._dim = checked_files(artefacts, edition)
        self.threads = threads or usable_cores()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1  # a page to a core is faster than a page on all cores
        # Weights become float32 once, at load, instead of in every run: a third less time.
        options.add_session_config_entry("session.disable_quant_qdq", "1")
        self._session = onnxruntime.InferenceSession(
            files[self.edition.model_file], options, providers=["CPUExecutionProvider"]
        )
        tokenizer = Tokenizer.from_str(files["tokenizer.json"].decode())
        self._windows = Windows(tokenizer)
        self._rarity = Rarity.read(files[self.edition.rarity_file].decode())
        self._spelling = Spelling(self._windows.pieces) if self.edition.spelling else None
        self._titles, self._titling = lru_cache(TITLES)(self._title_vectors), Lock()

    @property
    def name(self) -> str:
        return self.edition.name

    @property
    def dim(self) -> int:
        return self._dim

    @property
    def codec(self) -> Literal["int4", "int2"]:
        """In which a new index stores its vectors, unless another is asked for."""
        return self.edition.codec

    @property
    def prompt(self) -> Prompt:
        return "default"

    @property
    def reads(self) -> Reads:
        return "words"

    @property
    def pixels(self) -> None:
        """It reads words; a page need not be drawn."""
        return None

    def query_words(self, text: str) -> list[str]:
        return QUERY_WORD.findall(text)

    def encode_pages(self, pages: Sequence[Page | Image]) -> list[PageEmbedding]:
        """A page without words, or a bare picture, gives one vector that matches nothing in
        particular, for the page as a whole, and a warning."""
        named = _named(pages)
        silent = [page.name for page in named if not page.words]
        if silent:
            warnings.warn(
                f"no words on {', '.join(silent[:5])}{' …' if len(silent) > 5 else ''} "
                f"({len(silent)} of {len(named)} pages): the built-in encoder reads words only, so "
                'these can\'t be found; for scans: pip install "docpruner[ocr]", then '
                "docpruner index --ocr, or pages_of(path, ocr=True)",
                NoWordsWarning,
                stacklevel=2,
            )
        with ThreadPoolExecutor(self.threads) as pool:
            return list(pool.map(self._page, named))

    def encode_plain(self, pages: Sequence[Page | Image]) -> list[FloatArray]:
        with ThreadPoolExecutor(self.threads) as pool:
            return list(pool.map(self._vectors, _named(pages)))

    def encode_queries(self, texts: Sequence[str]) -> list[FloatArray]:
        """For each text the vectors of its words, each as long as the word counts."""
        found = []
        for number, text in enumerate(texts):
            words = self.query_words(text)
            if not words:
                raise EncoderError(f"query {number} is empty: {text!r}")
            vectors, factors = self._run(words, ("vectors", "weights"))
            counts = self._counts(words, factors)
            found.append((vectors * counts[:, None]).astype(np.float32))
        return found

    def _counts(self, words: Sequence[str], factors: FloatArray) -> FloatArray:
        """How much each word of a query counts. Of a word that the model does not know its factor
        says little, and its rarity everything."""
        if self._spelling is not None:
            factors = factors ** (1 - self._spelling.shares(words))
        rarity = np.array([max(self._rarity(word), LEAST) for word in words], np.float32)
        counts: FloatArray = (factors * rarity / USUAL_RARITY).astype(np.float32)
        return counts

    def _page(self, page: Page) -> PageEmbedding:
        words = _words_of(page)
        vectors, importance = self._weighed(words)
        length = self.edition.length_factor(len(words))
        vectors *= length
        boxes = np.array([word.box for word in words], np.float32)
        attended: FloatArray = (importance @ vectors).astype(np.float32)
        title = self._title(page, length)
        return PageEmbedding(
            name=page.name,
            vectors=np.concatenate([vectors, title]),
            importance=np.pad(importance, (0, len(title))),
            grid=GRID,
            cells=np.pad(cells_of(boxes), (0, len(title)), constant_values=SPECIAL),
            boxes=np.pad(boxes, ((0, len(title)), (0, 0))),
            global_vector=attended / max(float(np.linalg.norm(attended)), 1e-6),
        )

    def _vectors(self, page: Page) -> FloatArray:
        words = _words_of(page)
        texts = [word.text for word in words]
        (vectors,) = self._run(texts, ["vectors"])
        length = self.edition.length_factor(len(words))
        return np.concatenate([vectors * length, self._title(page, length)])

    def _weighed(self, words: Sequence[Word]) -> tuple[FloatArray, FloatArray]:
        """The vectors of words, of unit length, and their importances."""
        texts = [word.text for word in words]
        vectors, attention = self._run(texts, ("vectors", "importance"))
        importance = attention * self._worth(texts)
        importance *= len(importance) / importance.sum()
        return vectors, importance

    def _title(self, page: Page, length: float) -> FloatArray:
        """What a page whose own vectors have this length gets of its title page."""
        if not (page.title_page and self.edition.title_words):
            return np.empty((0, self.dim), np.float32)
        with self._titling:  # threads meet at a document's second page
            found: FloatArray = self._titles(page.title_page) * np.float32(
                self.edition.title_share * length
            )
        return found

    def _title_vectors(self, words: tuple[Word, ...]) -> FloatArray:
        vectors, importance = self._weighed(words)
        found: FloatArray = vectors[standing_out(words, importance, self.edition.title_words)]
        return found

    def _worth(self, texts: Sequence[str]) -> FloatArray:
        """How much each word is worth keeping, whatever stands around it."""
        times: Counter[str] = Counter()
        worth = np.empty(len(texts), np.float32)
        words = told_apart(texts) if self._spelling else map(bare, texts)
        for place, (text, word) in enumerate(zip(texts, words, strict=True)):
            times[word] += 1
            rarity = max(self._rarity(text), LEAST) ** self.edition.rarity_power
            worth[place] = rarity / times[word] ** self.edition.repeat_power
        return worth

    def _run(self, words: Sequence[str], outputs: Sequence[str]) -> list[FloatArray]:
        """These outputs, of each word. All vectors, of pages and queries, come from here."""
        found = self._model(words, outputs)
        if self._spelling is not None:
            place = outputs.index("vectors")
            found[place] = self._spelling.mixed(words, found[place])
        return found

    def _model(self, words: Sequence[str], outputs: Sequence[str]) -> list[FloatArray]:
        """These outputs of the model alone, of each word."""
        shapes = [
            (len(words), self.dim) if name == "vectors" else (len(words),) for name in outputs
        ]
        found: list[FloatArray] = [np.empty(shape, np.float32) for shape in shapes]
        windows = self._windows.cut(words)
        for start in range(0, len(windows), WINDOWS_AT_ONCE):
            some = windows[start : start + WINDOWS_AT_ONCE]
            batch = stack(some)
            inputs = {"ids": batch.ids, "mask": batch.mask, "pool": batch.pool}
            for array, output in zip(found, self._session.run(outputs, inputs), strict=True):
                for row, window in enumerate(some):
                    first, last = window.words
                    array[first:last] = output[row, : last - first]
        return found


def _named(pages: Sequence[Page | Image]) -> list[Page]:
    return [
        page if isinstance(page, Page) else Page(f"image {number}", partial(_itself, page))
        for number, page in enumerate(pages)
    ]


def _itself(image: Image) -> Image:
    return image


def _words_of(page: Page) -> Sequence[Word]:
    return page.words or (Word("[UNK]", WHOLE_PAGE),)


def cells_of(boxes: FloatArray) -> IntArray:
    """The grid cell of the middle of each box."""
    rows, columns = GRID
    middle_x, middle_y = (boxes[:, 0] + boxes[:, 2]) / 2, (boxes[:, 1] + boxes[:, 3]) / 2
    row = np.clip((middle_y * rows).astype(np.int32), 0, rows - 1)
    column = np.clip((middle_x * columns).astype(np.int32), 0, columns - 1)
    cells: IntArray = row * columns + column
    return cells


def checked_files(folder: Path, edition: str) -> tuple[dict[str, bytes], int]:
    """The files of an edition, if they are the ones that were built together, and the dimensions
    of its vectors."""
    manifest = folder / f"{edition}.json"
    try:
        described = json.loads(manifest.read_text())
        wanted: dict[str, str] = described["sha256"]
        files = {name: (folder / name).read_bytes() for name in wanted}
    except FileNotFoundError as error:
        raise EncoderError(
            f"the built-in encoder lacks {Path(error.filename).name}; reinstall docpruner"
        ) from None
    for name, content in files.items():
        got = hashlib.sha256(content).hexdigest()
        if got != wanted[name]:
            raise EncoderError(
                f"{folder / name} has sha256 {got[:12]}…, expected {wanted[name][:12]}…: the file "
                "is damaged or of another version; reinstall docpruner"
            )
    return files, described["dim"]
