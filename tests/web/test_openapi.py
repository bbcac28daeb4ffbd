"""Requests made up from the OpenAPI document: never a server error, always what is described."""

from __future__ import annotations

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from web.running import Server

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
LOOKS = [
    "/health",
    "/stats",
    "/documents",
    "/search",
    "/pages/{document}/{number}",
    "/pages/{document}/{number}/words",
    "/pages/{document}/{number}/hit",
    "/pages/{document}/{number}/image",
    "/pages/{document}/{number}/original",
    "/pages/{document}/{number}/reduction",
    "/whatif",
    "/budget",
    "/jobs/{job}",
]
UNCONDITIONAL = ("/health", "/stats", "/documents", "/budget")
FEW = settings(
    max_examples=25,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


def try_out(server: Server, path: str, method: str, mode: GenerationMode) -> None:
    schema = schemathesis.openapi.from_url(f"{server.url}/api/openapi.json")
    operation = schema[f"/api{path}"][method]
    document = next(iter(server.ids().values()))

    @FEW
    @given(case=operation.as_strategy(generation_mode=mode))
    def each(case):
        if "{number}" in path and mode is GenerationMode.POSITIVE:
            case.path_parameters.update(document=document, number=1)  # a page that there is
        case.call_and_validate(checks=CHECKS)

    each()


@pytest.mark.parametrize("path", LOOKS)
@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
def test_looking(server, path, mode):
    if mode is GenerationMode.NEGATIVE and path in UNCONDITIONAL:
        pytest.skip("takes no parameters that could be wrong")
    try_out(server, path, "GET", mode)


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
def test_sending_a_picture(server, mode):
    try_out(server, "/search/image", "POST", mode)


@pytest.mark.parametrize(
    ("path", "method"), [("/documents", "POST"), ("/documents/{document}", "DELETE")]
)
def test_changing(changing, path, method):
    for mode in GenerationMode:
        try_out(changing, path, method, mode)
