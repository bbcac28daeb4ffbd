"""What may not be: other hosts, other sites, no token, other files, endless requests."""

from __future__ import annotations

import socket
import time

import anyio
import httpx
import pytest
from fastapi import APIRouter, FastAPI

from docpruner.web.app import make_app
from docpruner.web.guard import changes_index
from web.running import Server, served, served_words

TOKEN = "correct horse battery staple"

ANY = "0123456789abcdef"  # what the id of a document looks like

CLIMBS = [
    "/static/../app.py",
    "/static/%2e%2e/app.py",
    "/static/..%2fapp.py",
    "/static/..%252fapp.py",
    "/static/%252e%252e%252fapp.py",
    "/static/..%5capp.py",
    "/static/..\\app.py",
    "/static/....//app.py",
    "/static//etc/passwd",
    "/static/%2fetc%2fpasswd",
    "/static/index.html%00.js",
    "/static/%c0%ae%c0%ae/app.py",
    "/static/",
    "/static/.",
    "/../../../../etc/passwd",
    "//etc/passwd",
    "/api/pages/..%2f..%2fetc/1/original",
    f"/api/pages/{ANY}/..%2f..%2fetc%2fpasswd/original",
    f"/api/pages/{ANY}/3/original/../../../../../etc/passwd",
    "/api/jobs/..%2f..%2fetc%2fpasswd",
    "/api/documents/..%2f1",
]


def raw(server: Server, text: str, *, seconds: float = 10) -> bytes:
    """What comes back for these very bytes; clients tidy paths up."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=seconds) as connection:
        connection.sendall(text.encode())
        answer = b""
        while part := connection.recv(65536):
            answer += part
        return answer


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


@pytest.mark.parametrize("path", CLIMBS)
def test_no_path_leads_out(server, path):
    answer = raw(server, f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    assert status(answer) in (400, 404, 405, 422)
    assert b"root:" not in answer
    assert b"FastAPI" not in answer


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]", "LOCALHOST:8000"])
def test_it_answers_to_names_of_this_computer(server, host):
    assert server.get("/api/health", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8000", "localhost.evil.example", "127.0.0.1.nip.io", ""]
)
def test_it_answers_to_no_other_name(server, host):
    answer = server.get("/api/documents", headers={"Host": host})
    assert answer.status_code == 421
    assert answer.json()["error"]["code"] == "wrong_host"


def test_without_its_token_it_tells_nothing(samples_index):
    with served(samples_index, "--host", "0.0.0.0", token=TOKEN) as running:
        assert TOKEN not in running.line
        client = running.client
        for path in (
            "/api/documents",
            f"/api/pages/{ANY}/1/image",
            "/api/openapi.json",
            "/api/nothing",
        ):
            for headers in ({"Authorization": ""}, {"Authorization": "Bearer wrong"}):
                answer = client.get(path, headers=headers)
                assert answer.status_code == 401
                assert answer.headers["www-authenticate"] == "Bearer"
            in_address = client.get(path, headers={"Authorization": ""}, params={"token": TOKEN})
            assert in_address.status_code == 401  # where a proxy would log it
        assert client.get("/api/documents").status_code == 200
        bare = {"Authorization": ""}
        assert client.get("/", headers=bare).status_code == 200
        assert client.get("/api/health", headers=bare).status_code == 200
        assert client.get("/api/documents", headers={"Host": "a.lan"}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "https://evil.example"},
        {"Origin": "http://localhost:1"},
        {"Origin": "null"},
    ],
)
def test_other_sites_can_change_nothing(changing, headers):
    sent = changing.upload(("a.pdf", b"%PDF-"), headers=headers)
    gone = changing.client.delete(f"/api/documents/{ANY}", headers=headers)
    assert (sent.status_code, gone.status_code) == (403, 403)


def test_the_page_itself_may(changing):
    first, _ = changing.ids().values()
    headers = {"Origin": changing.url, "Sec-Fetch-Site": "same-origin"}
    assert changing.client.delete(f"/api/documents/{first}", headers=headers).status_code == 200


def test_nothing_changes_unless_it_is_allowed(server):
    gone = server.client.delete(f"/api/documents/{ANY}")
    for answer in (server.upload(("a.pdf", b"%PDF-")), gone):
        assert answer.status_code == 403
        assert "--allow-changes" in answer.json()["error"]["message"]


@pytest.mark.parametrize("path", ["/api/anything", "/anything", "/static", "/api/health/more"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_new_route_needs_the_token_wherever_it_is(words_index, method, path):
    app = make_app(words_index, token=TOKEN, allow_changes=True)
    done = []

    @changes_index()
    async def anything() -> None:
        done.append(path)

    app.add_api_route(path, anything, methods=[method])
    assert anyio.run(asked, app, method, path).status_code == 401
    assert done == []
    app.state.on_exit.close()


async def asked(app, method: str, path: str) -> httpx.Response:
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        return await client.request(method, path)


@pytest.mark.parametrize("allow_changes", [False, True])
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_a_route_that_is_not_marked_can_change_nothing(words_index, method, allow_changes):
    app = make_app(words_index, allow_changes=allow_changes)
    done = []

    async def forgotten() -> None:
        done.append("forgotten")

    @changes_index()
    async def marked() -> None:
        done.append("marked")

    router = APIRouter()
    router.add_api_route("/api/included", forgotten, methods=[method])
    app.include_router(router)
    app.add_api_route("/api/forgotten", forgotten, methods=[method])
    app.add_route("/plain", forgotten, methods=[method])
    app.mount("/mounted", FastAPI())
    app.add_api_route("/api/marked", marked, methods=[method])
    for path in ("/api/included", "/api/forgotten", "/plain", "/mounted/x", "/api/nothing"):
        refused = anyio.run(asked, app, method, path)
        assert (refused.status_code, refused.json()["error"]["code"]) == (403, "forbidden")
    answer = anyio.run(asked, app, method, "/api/marked")
    assert answer.status_code == (200 if allow_changes else 403)
    assert done == ["marked"] * allow_changes
    app.state.on_exit.close()


def test_bodies_that_nobody_reads_are_refused(server):
    answer = server.client.request("GET", "/api/stats", content=b"x" * 100_000)
    assert answer.status_code == 413


def test_a_query_without_end_is_refused(server):
    for letters in (1001, 10_000, 100_000):
        path = f"/api/search?q={letters * 'x'}"
        answer = raw(server, f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert status(answer) in (400, 422)  # the first by uvicorn, if its address is too long
    assert server.get("/api/search?q=dividend").status_code == 200


def test_who_sends_nothing_is_hung_up_on(words_index):
    with served_words(words_index, "--impatient", "--allow-changes") as running:
        began = time.monotonic()
        assert raw(running, "GET / HTTP/1.1\r\nHost: loc") == b""
        head = "POST /api/documents HTTP/1.1\r\nHost: localhost\r\nContent-Length: 500\r\n"
        kind = "Content-Type: multipart/form-data; boundary=x\r\n\r\n"
        assert status(raw(running, f"{head}{kind}--x\r\n")) == 408
        assert time.monotonic() - began < 8
        assert running.get("/api/health").status_code == 200
