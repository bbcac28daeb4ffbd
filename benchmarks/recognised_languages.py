"""How many words of a page are recognised as they stand there, by language.

    python benchmarks/recognised_languages.py CACHE [--every 8]

Every n-th page of Debian's installation guide is drawn, and its words are recognised from the
picture alone; the text layer says what they are. rapidocr, and tesseract where it has the language.
Clean print: real scans are harder. The last line is JSON.
"""

from __future__ import annotations

import argparse
import resource
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from spelling_corpus import installation_guide, last_line

from docpruner.pages import tesseract
from docpruner.pages.document import OCR_PIXELS, open_document
from docpruner.pages.ocr import recognised_words
from docpruner.types import Ocr, Word

LANGUAGES = {
    "en": ("eng",),
    "de": ("deu",),
    "vi": ("vie",),
    "ru": ("rus", "rus+eng"),  # the guide has many English words and commands
    "ko": ("kor", "kor+eng"),
}


def cpu() -> float:
    own, children = (
        resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def counted(words: Iterable[Word]) -> Counter[str]:
    """Words without what stands around them; marks alone are none."""
    bare = (word.text.strip(".,;:!?()[]{}<>«»„“”‘’\"'-–—•*") for word in words)
    return Counter(word for word in bare if word)


def measured(path: Path, every: int, ocr: Ocr) -> dict[str, float]:
    right = there = said = pages = 0
    began = cpu()
    with open_document(path) as document:
        for number in range(every, document.count + 1, every):
            with document._open_page(number) as page:
                written = counted(page.words())
                read = counted(recognised_words(page.draw(OCR_PIXELS).image(), ocr))
            right += (written & read).total()
            there, said, pages = there + written.total(), said + read.total(), pages + 1
    return {
        "pages": pages,
        "words": there,
        "found": right / there,
        "right": right / max(1, said),
        "CPU s a page": (cpu() - began) / pages,
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("cache", type=Path)
    parser.add_argument("--every", type=int, default=8)
    options = parser.parse_args()
    result = {}
    there = {*(tesseract.installed_languages() or [])}
    for language, codes in LANGUAGES.items():
        path = installation_guide(options.cache, language)
        known = (each for each in codes if {*each.split("+")} <= there)
        ways: list[Ocr] = [True, *known]
        for way in ways:
            name = f"{language} {'rapidocr' if way is True else way}"
            result[name] = measured(path, options.every, way)
            values = (f"{value:8.3f} {what}" for what, value in result[name].items())
            print(f"{name:14}", *values, flush=True)
    last_line(result)


if __name__ == "__main__":
    main()
