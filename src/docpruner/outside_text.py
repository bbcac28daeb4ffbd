"""Text from outside, such as names of files and words of pages, without codes that are obeyed.

A terminal can be steered by it, and anybody who reads it misled: marks that turn text around make
`gpj.exe` look like `exe.jpg`.
"""

from __future__ import annotations

import re

# Control codes, line and paragraph separators, marks that turn text around, halves of characters.
_CODES = r"\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff"
_CODE, _CODE_OR_NEW_LINE = re.compile(f"[{_CODES}]"), re.compile(f"[{_CODES}\n]")


def visible(text: str, *, lines: bool = False) -> str:
    """Text without codes that a terminal obeys; `\\x1b` and `\\u202e` stand for them.

    With `lines`, line breaks stay what they are.
    """
    return (_CODE if lines else _CODE_OR_NEW_LINE).sub(_shown_code, text)


def escaped_json(text: str) -> str:
    """JSON that means the same, with codes as JSON's own escapes."""
    return _CODE.sub(lambda sign: f"\\u{ord(sign[0]):04x}", text)


def _shown_code(sign: re.Match[str]) -> str:
    code = ord(sign[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
