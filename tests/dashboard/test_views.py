"""How an answer is shown: in a zone, against the period before, in parts; and what the calls' senders leave open."""

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from dashboard import remedies
from dashboard.app import create_app
from dashboard.sparkline import paths
from schemas.settings import Settings
from tests import seeds
from tests.dashboard.reading import Page

HOUR_NS = 60 * seeds.MINUTE_NS


@pytest.fixture
def two_hours(engine: Engine) -> None:
    """An hour of 200 calls of which half fail, after one in which a tenth did; and a tool that has just come."""
    failed = {"outcome": "failure", "category": "transient", "retryable": True}
    before = [seeds.call(n, start_ns=seeds.NOW_NS - 2 * HOUR_NS + n, **({} if n % 10 else failed)) for n in range(1, 201)]
    now = [seeds.call(1000 + n, start_ns=seeds.NOW_NS - n, **({} if n % 2 else failed)) for n in range(1, 201)]
    seeds.put_calls(engine, [*before, *now, seeds.call(2000, tool="brand_new", start_ns=seeds.NOW_NS - 5)])


@pytest.mark.parametrize("path", ["/", "/tools", "/tools/docs-mcp/search_docs"])
def test_a_change_beyond_chance_is_shown_with_its_counts(client: TestClient, two_hours: None, path: str) -> None:
    page = Page(client.get(f"{path}?from=-1h&to=now&compare=previous").text)
    assert "points from 20 of 200" in page.text
    assert [attributes for _, attributes in page.elements if attributes.get("class") == "change worse"]
    kept = [link for link in page.links if link.startswith(("/tools/", "/calls?"))]
    assert kept
    assert all("compare=previous" in link for link in kept if "from=-1h" in link)


def test_a_tool_that_was_not_there_before_is_new(client: TestClient, two_hours: None) -> None:
    page = client.get("/tools?from=-1h&to=now&compare=previous").text
    assert page.count(">new</span>") == 1
    assert "no calls before" in page


def test_nothing_is_new_where_there_is_no_before(client: TestClient, engine: Engine) -> None:
    seeds.put_calls(engine, [seeds.call(1)])
    assert ">new</span>" not in client.get("/tools").text


def test_times_are_shown_in_the_zone_that_is_asked_for(engine: Engine) -> None:
    seeds.put_calls(engine, [seeds.call(1, outcome="failure")])
    with TestClient(create_app(engine, Settings(zone="Europe/Berlin"), lambda: seeds.NOW_NS)) as client:
        team = Page(client.get("/calls").text)
        assert "15:03:19" in team.text
        assert "Time (Europe/Berlin)" in team.text
        tokyo = Page(client.get("/calls?zone=Asia%2FTokyo").text)
        assert "23:03:19" in tokyo.text
        inner = [link for link in tokyo.links if link.startswith(("/", "?")) and "/static/" not in link and "/api/" not in link]
        assert all("zone=" in link for link in inner if link != "/calls")
        [call] = {link for link in tokyo.links if link.startswith("/calls/")}
        assert "2026-11-30 23:03:19.000 JST" in Page(client.get(call).text).text
        assert "2026-11-30 23:03:19.000 JST" in Page(client.get("/health?zone=Asia%2FTokyo").text).text
        for path in ("/health?zone=Nowhere", "/?zone=Nowhere", f"{call}&zone=x%2Fy"):
            assert client.get(path).status_code in (200, 400)
        assert "is no time zone" in client.get("/health?zone=Nowhere").text


def test_the_api_reads_times_in_the_zone_too(client: TestClient, engine: Engine) -> None:
    twin = client.get("/api/v1/tools?from=2026-11-30T22:00&to=2026-11-30T23:00&zone=Asia/Tokyo").json()
    assert twin["from_ns"] == 1_796_047_400 * 10**9 - 3800 * 10**9


def test_a_refresh_holds_only_the_parts_that_are_seen(client: TestClient, two_hours: None) -> None:
    whole = client.get("/").text
    part = client.get("/", headers={"x-toolvitals-refresh": "tiles card-mix"}).text
    assert len(part) < len(whole) / 2
    ids = [attributes["id"] for _, attributes in Page(whole).elements if "data-part" in attributes]
    assert [attributes["id"] for _, attributes in Page(part).elements if "data-part" in attributes] == ids
    assert set(Page(part).charts) == {"mix"}
    assert "Attempt failure rate" in part
    assert "Latest failures" not in part


def test_under_a_category_the_rate_is_that_of_the_category(client: TestClient, engine: Engine) -> None:
    kinds = [{}, {}, {"outcome": "failure", "category": "transient"}, {"outcome": "failure", "category": "business"}]
    seeds.put_calls(engine, [seeds.call(n, **kinds[n % 4]) for n in range(1, 401)])
    twin = client.get("/api/v1/overview?category=transient").json()
    total = twin["total"]
    assert (total["calls"], total["failure"], total["completed"], total["failure_ratio"]) == (100, 100, 400, 0.25)
    assert (total["empty_ratio"], total["success"]) == (None, 0)
    assert sum(bucket["failure"] for bucket in twin["buckets"]) == 100
    assert sum(bucket["completed"] for bucket in twin["buckets"]) == 400
    page = Page(client.get("/?category=transient").text)
    assert "100 of 400" in page.text
    assert page.drawn("outcomes") == 100
    assert len(client.get("/api/v1/calls?category=transient&limit=1000").json()["calls"]) == 100
    data = client.get("/api/v1/overview?emptiness=data").json()["total"]
    assert (data["calls"], data["failure_ratio"], data["empty_ratio"]) == (200, None, None)


def test_what_stays_open_is_told_by_instrumentation_with_a_remedy(client: TestClient, engine: Engine) -> None:
    def told(row: dict[str, object], *scopes: tuple[str, str]) -> dict[str, object]:
        return row | {"views": [seeds.view(row, scope=scope, scope_version=version) for scope, version in scopes]}

    rows = [
        seeds.call(n, **told(seeds.call(n, outcome="failure", category="transient" if n % 4 else "unclassified"), ("mcp-python-sdk", "2")))
        for n in range(1, 41)
    ]
    rows += [
        seeds.call(n, **told(seeds.call(n, emptiness="unknown" if n % 2 else "data"), ("mcp-python-sdk", "2"), ("pydantic-ai", "1")))
        for n in range(41, 101)
    ]
    seeds.put_calls(engine, rows)
    found = {one["scope"]: one for one in client.get("/api/v1/health").json()["understanding"]}
    assert (found["mcp-python-sdk"]["unclassified"], found["mcp-python-sdk"]["failures"]) == (10, 40)
    assert [found[scope]["unknown_ratio"] for scope in ("mcp-python-sdk", "pydantic-ai")] == [0.5, 0.5]
    assert found["pydantic-ai"]["unclassified_ratio"] is None
    text = Page(client.get("/health").text).text
    assert "toolvitals.result.count" in text
    assert "include_content=True" in text
    assert "This SDK calls every failure tool_error" in text
    assert client.get("/api/v1/health?format=csv&table=understanding").text.startswith("scope,scope_version,failures,")


def test_every_remedy_is_one_line() -> None:
    for scope in ("", "mcp-python-sdk", "fastmcp", "opentelemetry.instrumentation.mcp.x", "openinference.x", "unheard-of"):
        for line in (remedies.unclassified(scope), remedies.unknown_content(scope)):
            assert 20 < len(line) < 170
            assert "\n" not in line


def test_the_state_of_the_database_is_shown(client: TestClient, engine: Engine) -> None:
    seeds.put_calls(engine, [seeds.call(n) for n in range(1, 8)])
    health = client.get("/api/v1/health").json()
    assert health["storage"]["size_bytes"] > 10_000
    if engine.dialect.name == "sqlite":
        assert health["storage"]["rows"]["call"] == 7
    assert health["version"]


@pytest.mark.parametrize(
    ("values", "drawn"),
    [
        pytest.param([], (), id="nothing"),
        pytest.param([None, None], (), id="nothing known"),
        pytest.param([1.0], ("M0.0 2.0h1",), id="one value is a stroke"),
        pytest.param([0.0, 1.0], ("M0.0 18.0L100.0 2.0",), id="from the bottom to the top"),
        pytest.param([0.0, 0.0, None, 2.0, 4.0], ("M0.0 18.0L25.0 18.0", "M75.0 10.0L100.0 2.0"), id="a gap stays a gap"),
    ],
)
def test_small_lines(values: list[float | None], drawn: tuple[str, ...]) -> None:
    assert paths(values) == drawn


def test_the_style_guide_is_there_only_where_it_is_switched_on(engine: Engine, client: TestClient) -> None:
    assert client.get("/styleguide").status_code == 404
    with TestClient(create_app(engine, Settings(styleguide=True), lambda: seeds.NOW_NS)) as developer:
        page = Page(developer.get("/styleguide").text)
        assert set(page.charts) == {"outcomes", "shares", "mix"}
        assert "not enough data" in page.text
