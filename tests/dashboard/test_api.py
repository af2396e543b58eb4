"""The API is what its description says, for whatever anybody asks."""

from typing import Any

import orjson
import pytest
import schemathesis
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from schemathesis import Case
from schemathesis.checks import CHECKS
from schemathesis.schemas import BaseSchema
from sqlalchemy import Engine

from dashboard.app import create_app
from dashboard.examples import examples
from schemas.settings import Settings
from tests import seeds

ADDRESS = "/api/v1/openapi.json"
# What differs from answer to answer.
OPEN = ("attributes", "rows", "failed_children", "labels", "evidence", "matchers")
CHECKED = ("not_a_server_error", "status_code_conformance", "content_type_conformance", "response_schema_conformance")


@pytest.fixture
def described(engine: Engine) -> BaseSchema:
    """The description of a dashboard over some calls."""
    rows = [seeds.call(n, outcome="failure" if n % 3 else "success", error_type="T", message="m", session="s") for n in range(1, 41)]
    seeds.put_calls(engine, rows)
    seeds.put(engine, "tool_span", [seeds.span(row) for row in rows])
    return schemathesis.openapi.from_asgi(ADDRESS, create_app(engine, Settings(), lambda: seeds.NOW_NS))


PATHS = tuple(sorted(examples()))


@pytest.mark.parametrize("path", PATHS)
def test_nothing_that_is_asked_breaks_it(described: BaseSchema, path: str) -> None:
    checks = CHECKS.get_by_names(list(CHECKED))

    @settings(max_examples=15, suppress_health_check=list(HealthCheck), derandomize=True)
    @given(case=described[path]["GET"].as_strategy())
    def ask(case: Case) -> None:
        case.call_and_validate(checks=checks)

    ask()


def keys(value: Any) -> Any:
    """The names in an answer, without its values; of lists the first item's."""
    if isinstance(value, dict):
        return {name: keys(inner) for name, inner in value.items() if name not in OPEN}
    return [keys(value[0])] if isinstance(value, list) and value and isinstance(value[0], dict) else []


@pytest.mark.parametrize("path", PATHS)
def test_examples_have_the_keys_of_real_answers(client: TestClient, engine: Engine, path: str) -> None:
    row = seeds.call(1, outcome="failure", category="transient", message="no results")
    server = seeds.view(row, layer="server", outcome="success", category=None, emptiness="data")
    seeds.put_calls(engine, [seeds.call(1, **row | {"views": [seeds.view(row), server]})])
    seeds.put(engine, "tool_span", [seeds.span(row)])
    content = orjson.dumps(examples()["/api/v1/reviews/{week}"]).decode()
    seeds.put(engine, "review", [{"zone": "UTC", "week": "2026-W48", "revision": 1, "created_ns": 1, "seen": "{}", "content": content}])
    looked = {"name": "suppression_evaluated", "value": '{"at_ns": 2, "from_ns": 0, "to_ns": 1}'}
    seeds.put(engine, "meta", [looked])
    ids = {"trace_id": row["trace_id"].hex(), "call_id": row["call_id"].hex(), "span_id": row["call_id"].hex()}
    ids["week"] = "2026-W48"
    address = path.format(server="docs-mcp", tool="search_docs", chain_id=f"{ids['trace_id']}-{ids['call_id']}", **ids)
    real, example = keys(client.get(address).json()), keys(examples()[path])
    # What this small database has none of is an empty list there.
    for name in [name for name, value in real.items() if value == [] and isinstance(example.get(name), list)]:
        real[name] = example[name]
    if path == "/api/v1/reviews":
        real["reviews"][0]["notes"] = example["reviews"][0]["notes"]
    for name in ("errors", "marked_as_errors", "call"):
        if name in real:
            real[name] = {key: value or example[name].get(key) for key, value in real[name].items()}
    assert real == example


def test_every_address_is_described_with_an_example(client: TestClient) -> None:
    for path, operations in client.get(ADDRESS).json()["paths"].items():
        if path.startswith("/api/") and "get" in operations:
            content = operations["get"]["responses"]["200"]["content"]
            assert content["application/json"]["example"], path
            assert all(parameter["description"] for parameter in operations["get"]["parameters"] if parameter["in"] == "query"), path
