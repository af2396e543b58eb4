"""The pages on retries: every number agrees with the JSON, states lead to their operations, attempts stand together."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient

from dashboard import attempt_line, grouping, retry_charts
from dashboard.app import create_app
from dashboard.filters import Filter
from dashboard.retry_queries import RetryBucket
from dashboard.retrying import Counts, Retries
from dashboard.time_axis import axis
from schemas.settings import Settings
from schemas.zones import zone_of
from tests.dashboard.reading import Page
from tests.dashboard.test_retries import LATER_NS, second_vector, worked_vector
from tests.database import Database

HOURS = "from=2026-11-23T09:00:00Z&to=2026-11-23T11:00:00Z"


@pytest.fixture
def client(database: Database) -> Iterator[TestClient]:
    """The dashboard over both worked vectors, an hour after them."""
    database.take(*worked_vector())
    with TestClient(create_app(database.engine, Settings(), lambda: LATER_NS)) as client:
        yield client


def chains(client: TestClient, query: str = "") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.get(f"/api/v1/chains?{HOURS}&{query}").json()["chains"]
    return found


def test_the_page_says_what_the_json_says(client: TestClient) -> None:
    total = client.get(f"/api/v1/retries?{HOURS}").json()["total"]
    page = Page(client.get(f"/retries?{HOURS}").text)
    assert "7 attempts of 4 operations" in page.text
    assert "3 closed operations failed first." in page.text
    assert "Of 3 retries: 3 by equal arguments." in page.text
    for state in ("recovered", "abandoned", "exhausted"):
        count = total[state]
        assert f"{state} {count} {count} of 3" in page.text
    drawn = {trace["name"]: trace for trace in page.charts["ratio"]["data"]}
    parts = [text.split(" of ") for text in drawn["retries of attempts"]["customdata"] if text]
    assert [sum(int(part[at]) for part in parts) for at in (0, 1)] == total["of"]["retry_ratio"]
    assert [shape["y0"] for shape in page.charts["ratio"]["layout"]["shapes"]] == [0.1, 0.2]
    assert page.drawn("gaps") == 3


def test_every_state_leads_to_its_operations(client: TestClient) -> None:
    total = client.get(f"/api/v1/retries?{HOURS}").json()["total"]
    links = set(Page(client.get(f"/retries?{HOURS}").text).links)
    for state in ("recovered", "abandoned", "exhausted", "missed", "open"):
        [link] = {link for link in links if link.startswith("/chains?") and f"state={state}" in link}
        found = client.get(f"/api/v1{link}").json()["chains"]
        assert len(found) == total.get(state, total["open_operations"]), state
        page = Page(client.get(link).text)
        assert len({one for one in page.links if one.startswith("/chains/")}) == len(found)


def test_an_operation_shows_its_attempts_on_a_line(client: TestClient) -> None:
    [chain] = chains(client, "state=recovered")
    page = Page(client.get(f"/chains/{chain['chain_id']}").text)
    assert "recovered 3 attempts, well again after 6 s" in page.text
    calls = [link for link in page.links if re.fullmatch("/calls/[0-9a-f]+/[0-9a-f]+", link)]
    assert len(calls) == 3
    assert client.get(calls[0]).status_code == 200
    assert "1.9 s" in page.text
    assert f"/chains/{chain['chain_id']}" in Page(client.get(calls[0]).text).links


def test_what_is_no_operation_says_so(client: TestClient) -> None:
    for path in ("/chains/x", f"/chains/{'0' * 32}-{'0' * 16}"):
        answer = client.get(path)
        assert answer.status_code == 404
        assert "no such operation" in Page(answer.text).text
    for path in ("/retries?category=transient", "/chains?outcome=failure", "/chains?state=x", "/retries?strength=x", "/chains/x?page=1"):
        assert client.get(path).status_code == 400, path


def test_attempts_of_one_operation_stand_together_in_lists(client: TestClient) -> None:
    page = Page(client.get(f"/calls?{HOURS}").text)
    assert "3 attempts , recovered, +6 s" in page.text
    assert "2 attempts , abandoned" in page.text
    assert page.text.count("of them here") == 0
    part = Page(client.get(f"/calls?{HOURS}&outcome=failure&category=transient").text)
    assert "3 attempts , recovered, +6 s · 2 of them here" in part.text
    assert "attempts , recovered" in Page(client.get(f"/?{HOURS}").text).text


def test_tools_have_the_numbers_of_their_operations(client: TestClient, database: Database) -> None:
    total = client.get(f"/api/v1/retries?{HOURS}").json()["total"]
    [row] = client.get(f"/api/v1/tools?{HOURS}").json()["tools"]
    names = ("operations", "retries", "operation_success", "retry_success_rate", "amplification")
    assert {name: row[name] for name in names} == {name: total[name] for name in names}
    page = Page(client.get(f"/tools?{HOURS}&sort=amplification").text)
    assert "1.75" in page.text
    [link] = {link for link in page.links if link.startswith("/tools/")}
    tool = Page(client.get(link).text)
    assert "1st 4" in tool.text
    assert "2nd 2" in tool.text
    assert client.get(f"/api/v1{link}").json()["retries"]["funnel"] == total["funnel"]
    by = client.get(f"/api/v1/tools?{HOURS}&category=transient").json()["tools"]
    assert [one["operations"] for one in by] == [0]


def test_the_landing_page_has_the_tiles_of_operations(client: TestClient) -> None:
    page = Page(client.get(f"/?{HOURS}").text)
    for name in ("Operation success", "Retry success rate", "Retry ratio"):
        assert name in page.text
    assert client.get(f"/api/v1/overview?{HOURS}").json()["retries"]["of"]["retry_ratio"] == [3, 7]
    filtered = client.get(f"/?{HOURS}&category=transient")
    assert "operations have calls of several kinds" in filtered.text
    assert client.get(f"/api/v1/overview?{HOURS}&category=transient").json()["retries"] is None
    [link] = [link for link in Page(filtered.text).links if link.startswith("/retries?") and "mix" not in link][:1]
    assert "category" not in link
    assert client.get(link).status_code == 200


def test_the_second_vector_is_exhausted_and_recovered(database: Database) -> None:
    database.take(*second_vector())
    with TestClient(create_app(database.engine, Settings(), lambda: LATER_NS)) as client:
        states = sorted(chain["state"] for chain in chains(client))
        assert states == ["abandoned", "exhausted", "recovered"]
        assert "exhausted" in Page(client.get(f"/chains?{HOURS}").text).text


@pytest.mark.parametrize("count", [0, 1, 61])
def test_charts_of_retries_take_any_amount(count: int) -> None:
    question = Filter(0, 61 * 60 * 10**9)
    slots = axis(question, 10**18, zone_of("UTC"))
    buckets = [RetryBucket(slot.bucket_ns, Retries(Counts(attempts=20, retries=5))) for slot in slots.slots[:count]]
    for draw in (retry_charts.retry_ratio, retry_charts.amplification):
        figure = draw(buckets, question, slots)
        assert sum(value is not None for value in figure["data"][0]["y"]) == count
    assert retry_charts.gap_histogram(retry_charts.gap_bars(Retries()))["data"]


def test_a_wider_stretch_sums_parts_and_wholes() -> None:
    buckets = [RetryBucket(at, Retries(Counts(attempts=10, retries=at))) for at in range(6)]
    shares = retry_charts.shares(buckets, 3, [0, 3, 6], lambda retries: retries.retry_ratio)
    assert [(share.part, share.whole) for share in shares] == [(3, 30), (12, 30), (0, 0)]


def test_attempts_are_placed_in_time() -> None:
    def record(start: int, duration: int | None, gap: int | None) -> dict[str, int | None]:
        return {"start_ns": start, "duration_ns": duration, "gap_ns": gap}

    first, second = attempt_line.attempts([record(1000, 100, None), record(1150, 50, 50)])
    assert (first.left, first.width, first.pause_width) == (0, 50, 0)
    assert (second.left, second.width, second.pause_left, second.pause_width) == (75, 25, 50, 25)
    [alone] = attempt_line.attempts([record(5, None, -7)])
    assert (alone.left, alone.width, alone.pause_width) == (0, 0.6, 0)
    assert attempt_line.attempts([]) == ()


def test_groups_keep_the_order_and_the_newest_first() -> None:
    records = [{"n": n, "chain_id": name} for n, name in enumerate(["a", None, "b", "a", "c", "b"])]
    found = grouping.groups(records, {"a": {"attempts": 2}, "b": {"attempts": 3}})
    assert [[call["n"] for call in group.calls] for group in found] == [[0, 3], [1], [2, 5], [4]]
    assert [group.chain and group.chain["attempts"] for group in found] == [2, None, 3, None]
    assert grouping.chain_ids(records) == ["a", "b", "c"]
