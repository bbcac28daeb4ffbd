"""`docpruner mcp --http` in a process of its own: the same answers, and the guard of `serve`."""

import base64
import io
import signal
from collections.abc import Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import httpx
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from PIL import Image

from agents.conftest import asked, text_of
from web.running import Server

TOKEN = "a-token-for-tests"
CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
ACCEPTED = {"Accept": "application/json, text/event-stream"}


@pytest.fixture(scope="module")
def server(samples_index: Path) -> Iterator[Server]:
    program = ["-m", "docpruner", "mcp", str(samples_index), "--http", "127.0.0.1:0"]
    with Server(program, token=TOKEN) as running:
        yield running


@asynccontextmanager
async def with_token(url: str, token: str):
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        streamable_http_client(f"{url}/mcp", http_client=http) as streams,
    ):
        yield streams


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_same_tools_answer_without_paths_of_the_server(server, mode):
    async def work(client):
        names = sorted(tool.name for tool in (await client.list_tools()).tools)
        found = await client.call_tool("search", {"query": "tidal turbines", "k": 1})
        (hit,) = found.structured_content["hits"]
        page = {"document": hit["document"], "page": hit["page"]}
        picture = await client.call_tool("page_image", {**page, "query": "tidal turbines"})
        read = await client.read_resource(hit["uri"])
        gone = await client.call_tool("page_text", {**page, "page": 99})
        return names, hit, picture, read, gone

    transport = with_token(server.url, TOKEN)
    names, hit, picture, read, gone = asked(transport, work, mode=mode)
    assert names == ["documents", "page_image", "page_text", "search", "stats"]
    assert (hit["document"], hit["file"]) == ("tidal-energy-article.pdf", None)
    image = next(block for block in picture.content if block.type == "image")
    assert max(Image.open(io.BytesIO(base64.b64decode(image.data))).size) <= 1200
    assert "/" not in text_of(picture).partition("text:")[0]
    assert "turbine" in read.contents[0].text.lower()
    assert gone.is_error
    assert "has no page 99" in text_of(gone)


@pytest.mark.parametrize("token", ["", "another-token"])
def test_who_does_not_know_the_token_stays_out(server, token):
    answer = httpx.post(
        f"{server.url}/mcp",
        json=CALL,
        headers={**ACCEPTED, **({"Authorization": f"Bearer {token}"} if token else {})},
    )
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"] == "Bearer"
    with pytest.raises(ExceptionGroup, match="TaskGroup"):
        asked(with_token(server.url, token or "nothing"), lambda client: client.list_tools())


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Origin": "https://evil.example"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
    ],
)
def test_other_hosts_and_sites_are_refused(server, headers, status):
    answer = server.client.post("/mcp", json=CALL, headers={**ACCEPTED, **headers})
    assert answer.status_code == status


def test_a_large_request_is_refused(server):
    assert server.client.post("/mcp", content=b" " * 70_000).status_code == 413


def test_nothing_but_the_protocol_takes_posts(server):
    assert server.client.post("/api/health").status_code == 403
    assert server.client.get("/api/documents").status_code == 404


def test_health_needs_no_token(server):
    assert httpx.get(f"{server.url}/api/health").json()["status"] == "ok"


def test_without_a_token_one_is_made_and_told_once(samples_index):
    program = ["-m", "docpruner", "mcp", str(samples_index), "--http", "0"]
    with Server(program) as running:
        token = running.line.partition("Bearer ")[2].split()[0]
        assert running.line.startswith(f"{samples_index} at http://127.0.0.1:{running.port}/mcp")
        assert len(token) >= 32
        asked(with_token(running.url, token), lambda client: client.call_tool("stats"))
        status, errors = running.stop(signal.SIGTERM)
    assert status == 0
    assert errors == ""


def test_many_agents_at_once(server):
    """One encoder, one index, several sessions."""

    async def one(answers: list) -> None:
        async with Client(with_token(server.url, TOKEN)) as client:
            found = await client.call_tool("search", {"query": "landlord", "k": 1, "mode": "text"})
            answers.append(found.structured_content["hits"])

    async def all_of_them() -> list:
        answers: list = []
        async with anyio.create_task_group() as group:
            for _ in range(6):
                group.start_soon(one, answers)
        return answers

    answers = anyio.run(all_of_them)
    assert len(answers) == 6
    assert all(answer == answers[0] for answer in answers)
