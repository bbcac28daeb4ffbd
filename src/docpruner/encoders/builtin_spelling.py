"""What a word looks like, as a vector: for the words that the language model does not know.

A language model cuts a part number, a name or a Russian word into pieces that mean nothing to it,
and its vectors of two of them are nearly the same. Their letters tell them apart. Features of the
spelling (the whole word, its parts between signs, runs of three letters) each have a random
direction, which is a hash of the feature, so it is the same in every process and needs no table.
A word's spelling is their sum: 1 for the same word, near 0 for words that share nothing, between
them for words of one stem.

The spelling is laid over the model's vector in the same dimensions: with a share a of the word,
√(1-a)·meaning + √a·spelling. Random directions are nearly orthogonal to everything, so that the
product of two words is about (1-a)·(their meanings) + a·(their spellings). Pages and queries mix
alike. The share is high where the model knows little, and low for the words it has as a whole.

Chinese and Japanese come as single characters; there the features are the character and its pairs
with the characters beside it, so that a word of two characters is more than both of them anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from hashlib import blake2b
from unicodedata import combining, normalize

import numpy as np

from docpruner.encoders.builtin_rarity import bare
from docpruner.types import FloatArray

DIM = 128  # unless said otherwise; a hash has enough bits for 512
RUN = 3  # letters
WHOLE_OF_LETTERS, WHOLE_OF_DIGITS = 0.2, 0.7  # the rest is shared by its parts and runs
PAIRS = 0.7  # of a Chinese or Japanese character's spelling, its pairs with its neighbours
# Share of spelling in a word that the model has as one piece, and in one of ever more pieces.
# Numbers have no synonyms; other scripts than Latin mean nothing to the model in any case.
WORD, NUMBER, FOREIGN = (0.1, 0.7), (0.5, 0.85), (0.85, 0.85)
CACHED = 1 << 15  # words; 20 MB at 128 dimensions

_DASHES = re.compile("[\u00ad\u2010-\u2015\u2212]")
_EDGES = re.compile(r"^[\W_]+|[\W_]+$")
_SIGNS = re.compile(r"[\W_]+")
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_OTHER_SCRIPT = re.compile(r"[^\W\d_\u0000-\u024f\u1e00-\u1eff]")


class Spelling:
    """Mixes the spelling of words into their vectors.

    `pieces` are the word pieces of each of some words, as the model reads them.
    """

    def __init__(self, pieces: Callable[[Sequence[str]], Sequence[Sequence[int]]]) -> None:
        self._share = lru_cache(CACHED)(lambda word: share(word, len(pieces([word])[0])))

    def mixed(self, words: Sequence[str], vectors: FloatArray) -> FloatArray:
        """The vectors with spelling mixed in, of unit length."""
        shares = self.shares(words)[:, None]
        spelled = spelling(words, vectors.shape[1])
        both = np.sqrt(1 - shares) * vectors + np.sqrt(shares) * spelled
        lengths = np.maximum(np.linalg.norm(both, axis=1, keepdims=True), 1e-6)
        found: FloatArray = (both / lengths).astype(np.float32, copy=False)
        return found

    def shares(self, words: Sequence[str]) -> FloatArray:
        return np.array([self._share(word) for word in words], np.float32)


def share(word: str, pieces: int) -> float:
    """How much of a word's vector is its spelling, if the model cuts it into so many pieces."""
    form = written(word)
    if not form:
        return 0.0
    foreign, number = _OTHER_SCRIPT.search(form), any(map(str.isdigit, form))
    least, most = FOREIGN if foreign else NUMBER if number else WORD
    return least + (most - least) * (1 - 1 / pieces)


def spelling(words: Sequence[str], dim: int = DIM) -> FloatArray:
    """(words, dim), each of unit length; zeros for a word of signs alone."""
    found = np.empty((len(words), dim), np.float32)
    before = ""
    for place, (word, after) in enumerate(_with_next(words)):
        if after is None:
            found[place], before = _word(written(word), dim), ""
        else:
            found[place], before = _character(before, word, after, dim), word
    return found


def told_apart(words: Sequence[str]) -> list[str]:
    """What has to be the same if a word is to stand on a page again: of a Chinese or Japanese
    character, the next one too."""
    return [bare(word) if after is None else word + after for word, after in _with_next(words)]


def _with_next(words: Sequence[str]) -> Iterator[tuple[str, str | None]]:
    """With each character of a script without spaces the one that follows it, if one does; with
    any other word None."""
    unspaced = [len(word) == 1 and _UNSPACED.match(word) is not None for word in words]
    for place, word in enumerate(words):
        follows = place + 1 < len(words) and unspaced[place + 1]
        yield word, None if not unspaced[place] else words[place + 1] if follows else ""


@lru_cache(CACHED)
def written(word: str) -> str:
    """Without case, signs at its edges and differences of form: "(AB–12)," is ab-12."""
    return _EDGES.sub("", _DASHES.sub("-", normalize("NFKC", word).casefold()))


@lru_cache(CACHED)
def _word(form: str, dim: int) -> FloatArray:
    if not form:
        return np.zeros(dim, np.float32)
    parts = [part for part in _SIGNS.split(form) if part]
    plain = "".join(sign for sign in normalize("NFKD", "".join(parts)) if not combining(sign))
    framed = f"<{plain}>"
    runs = [f"~{framed[i : i + RUN]}" for i in range(len(framed) - RUN + 1)]
    if any(map(str.isdigit, form)):  # one identifier; "paket-verwaltung" is two words as well
        whole, wholes, rest = WHOLE_OF_DIGITS, [form], [*parts, *runs]
    else:
        whole, wholes, rest = WHOLE_OF_LETTERS, [form, *parts], runs
    return _unit(np.sqrt(whole) * _sum(wholes, dim) + np.sqrt(1 - whole) * _sum(rest, dim))


@lru_cache(CACHED)
def _character(before: str, character: str, after: str, dim: int) -> FloatArray:
    pairs = [pair for pair in (before + character, character + after) if len(pair) > 1]
    alone = _sum([character], dim)
    if not pairs:
        return alone
    return _unit(np.sqrt(1 - PAIRS) * alone + np.sqrt(PAIRS) * _sum(pairs, dim))


def _sum(features: Sequence[str], dim: int) -> FloatArray:
    """Of unit length, of the directions of the features."""
    digests = b"".join(
        blake2b(each.encode("utf-8", "surrogatepass"), digest_size=dim // 8).digest()
        for each in features
    )
    bits = np.unpackbits(np.frombuffer(digests, np.uint8)).reshape(-1, dim)
    return _unit(2.0 * bits.sum(axis=0, dtype=np.float32) - len(features))


def _unit(vector: FloatArray) -> FloatArray:
    return (vector / max(float(np.linalg.norm(vector)), 1e-6)).astype(np.float32)
