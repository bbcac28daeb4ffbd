"""What an agent does with `docpruner mcp`, step by step, printed: `python examples/agent_session.py
INDEX QUESTION`. The client is that of the official SDK; a model would choose the same calls."""

from __future__ import annotations

import asyncio
import json
import os
import sys

from mcp import Client, StdioServerParameters
from mcp_types import CallToolResult

LONGEST = 400  # characters of an answer that are printed


async def session(index: str, question: str) -> None:
    command = StdioServerParameters(
        command=sys.executable, args=["-m", "docpruner", "mcp", index], env=dict(os.environ)
    )
    async with Client(command) as client:
        listed = await client.list_tools()
        print("tools:", ", ".join(tool.name for tool in listed.tools))
        found = await _called(client, "search", query=question, k=2)
        hits = (found.structured_content or {})["hits"]
        if not hits:
            return
        page = {"document": hits[0]["document"], "page": hits[0]["page"]}
        await _called(client, "page_text", **page)
        await _called(client, "page_image", **page, query=question)
        await _called(client, "page_text", document="no-such.pdf", page=1)
        resource = await client.read_resource(hits[0]["uri"])
        print(f"\n> resource {hits[0]['uri']}")
        print(_shortened(getattr(resource.contents[0], "text", "")))


async def _called(client: Client, tool: str, **arguments: object) -> CallToolResult:
    print(f"\n> {tool} {json.dumps(arguments)}")
    result = await client.call_tool(tool, arguments)
    assert isinstance(result, CallToolResult)
    for block in result.content:
        if block.type == "image":
            print(f"[{block.mime_type}, {len(block.data):,} characters of base64]")
        elif block.type == "text":
            print(("error: " if result.is_error else "") + _shortened(block.text))
    return result


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST else text[:LONGEST].rstrip() + " …"


if __name__ == "__main__":
    asyncio.run(session(*sys.argv[1:3]))
