"""Pages found for a question, as the messages that a vision model takes. No network is used: the
messages are printed, with their pictures shortened; plug your model in where it says so.

    python examples/ask_with_pages.py "What does it cost to lease the cargo bike?"
    python examples/ask_with_pages.py QUESTION --index my.idx --shape anthropic -k 2

Without --index, the sample documents are searched. An address of `docpruner serve` will do too.
"""

from __future__ import annotations

import argparse
import base64
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import docpruner
from docpruner import Hit, Index
from docpruner.client import Client

SAMPLES = Path(docpruner.__file__).parent / "samples"
QUESTION = "What does it cost to lease the cargo bike?"
WIDTH = 1000  # pixels of a page: enough to read it, and few tokens
SHOWN = 40  # characters of a picture that are printed
ANSWER_LENGTH = 1000  # tokens

INSTRUCTIONS = (
    "Answer from these pages alone, and name the document and page that says it. "
    "If they don't say it, say so."
)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("question", nargs="?", default=QUESTION)
    parser.add_argument("--index", help="a folder, or http://… (default: the sample documents)")
    parser.add_argument("--shape", choices=["openai", "anthropic"], default="openai")
    parser.add_argument("-k", type=int, default=2, help="how many pages")
    options = parser.parse_args()
    with searchable(options.index) as index:
        hits = index.search(options.question, options.k)
        shape = openai_request if options.shape == "openai" else anthropic_request
        request = shape(options.question, hits)
    # Here the model comes in:
    #   OpenAI().chat.completions.create(model=…, **request)
    #   Anthropic().messages.create(model=…, **request)
    print(json.dumps(shortened(request), indent=2, ensure_ascii=False))


def searchable(location: str | None) -> Index | Client:
    if location is None:
        index = Index.create(None)
        index.add(SAMPLES)
        return index
    return Client(location) if location.startswith("http") else Index.open(location)


def openai_request(question: str, hits: Sequence[Hit]) -> dict[str, Any]:
    """As chat completions take it; many other servers (vLLM, Ollama, llama.cpp) do as well."""
    parts: list[dict[str, Any]] = []
    for hit in hits:
        url = f"data:image/png;base64,{picture(hit)}"
        parts.append({"type": "text", "text": caption(hit)})
        parts.append({"type": "image_url", "image_url": {"url": url}})
    parts.append({"type": "text", "text": question})
    return {
        "messages": [
            {"role": "system", "content": INSTRUCTIONS},
            {"role": "user", "content": parts},
        ]
    }


def anthropic_request(question: str, hits: Sequence[Hit]) -> dict[str, Any]:
    parts: list[dict[str, Any]] = []
    for hit in hits:
        source = {"type": "base64", "media_type": "image/png", "data": picture(hit)}
        parts.append({"type": "text", "text": caption(hit)})
        parts.append({"type": "image", "source": source})
    parts.append({"type": "text", "text": question})
    messages = [{"role": "user", "content": parts}]
    return {"system": INSTRUCTIONS, "max_tokens": ANSWER_LENGTH, "messages": messages}


def caption(hit: Hit) -> str:
    """Where the page is from, and its words: a model may not see what is printed small."""
    return f"{Path(hit.document).name}, page {hit.page}:\n{hit.text}"


def picture(hit: Hit) -> str:
    stream = io.BytesIO()
    hit.image(WIDTH).save(stream, "PNG")
    return base64.b64encode(stream.getvalue()).decode()


def shortened(value: Any) -> Any:
    """For people: a picture is its beginning, and how long it is."""
    if isinstance(value, dict):
        return {key: shortened(each) for key, each in value.items()}
    if isinstance(value, list):
        return [shortened(each) for each in value]
    if isinstance(value, str) and len(value) > 10_000:
        return f"{value[:SHOWN]}… ({len(value):,} characters)"
    return value


if __name__ == "__main__":
    main()
