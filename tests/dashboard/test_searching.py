"""What neither an index nor a rollup knows is looked for a piece at a time, and the page says how far it looked."""

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from dashboard import call_queries
from schemas.database import migrate
from tests import seeds
from tests.dashboard.reading import Page
from tests.database import Fill


def some_calls(engine: Engine) -> None:
    """500 calls, two a minute, the oldest of which alone has a flag."""
    rows = [
        seeds.call(
            n,
            start_ns=seeds.NOW_NS - n * 30 * seeds.SECOND_NS,
            duration_ns=n * 10_000_000,
            decided_by="is_error" if n % 50 == 0 else "no_failure",
            outcome="failure" if n % 50 == 0 else "success",
            flags="salvaged" if n == 500 else "",
        )
        for n in range(1, 501)
    ]
    seeds.put_calls(engine, rows)


@pytest.fixture
def fill() -> Fill:
    return some_calls


@pytest.mark.parametrize("searched", [10, 60, 10_000])
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("decided_by=is_error", 10),
        ("flag=salvaged", 1),
        ("min_duration=4s", 101),
        ("min_duration=1s&max_duration=2s", 100),
        ("min_duration=4s&outcome=failure", 3),
        ("decided_by=nobody", 0),
    ],
)
def test_every_match_is_found_once_however_far_a_page_looks(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, searched: int, query: str, expected: int
) -> None:
    monkeypatch.setattr(call_queries, "SEARCHED", searched)
    found: list[str] = []
    cursor: str | None = ""
    pages = 0
    while cursor is not None:
        answer = client.get(f"/api/v1/calls?range=6h&limit=20&{query}&cursor={cursor}").json()
        found += [call["call_id"] for call in answer["calls"]]
        cursor = answer["next"]
        pages += 1
        assert pages < 120
    assert len(found) == len(set(found)) == expected


def test_the_page_says_how_far_it_looked(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_queries, "SEARCHED", 100)
    page = Page(client.get("/calls?range=6h&flag=salvaged").text)
    assert "None of the calls that were looked at match." in page.text
    assert "Searched back to" in page.text
    [further] = {link for link in page.links if "cursor=" in link}
    for _ in range(6):
        page = Page(client.get(f"/calls{further}").text)
        following = {link for link in page.links if "cursor=" in link}
        if not following:
            break
        [further] = following
    assert "That is all." in page.text
    assert len([link for link in page.links if link.startswith("/calls/")]) == 1


def test_chosen_columns_are_shown_and_kept(client: TestClient) -> None:
    page = Page(client.get("/calls?range=6h&columns=time,flags&columns=decided_by&outcome=failure").text)
    heads = [attributes for tag, attributes in page.elements if tag == "th"]
    assert len(heads) == 3
    assert "salvaged" in page.text
    assert "is_error" in page.text
    kept = [link for link in page.links if link.startswith("?") and "columns=time%2Cdecided_by%2Cflags" in link]
    assert kept
    wrong = client.get("/calls?columns=nonsense")
    assert wrong.status_code == 400
    assert "There is no column named" in wrong.text


@pytest.mark.parametrize("fill", [migrate], ids=["other calls"])
def test_facets_lead_to_as_many_calls_as_they_say(client: TestClient, engine: Engine) -> None:
    kinds = [{}, {"emptiness": "empty"}, {"outcome": "failure", "category": "business", "retryable": False}, {"outcome": "cancelled"}]
    seeds.put_calls(engine, [seeds.call(n, tool=f"t{n % 12}", server=f"s{n % 2}", **kinds[n % 4]) for n in range(1, 241)])
    answer = client.get("/calls").text
    facets = answer.split('class="facets"')[1].split('class="scroll"')[0]
    page = Page(f"<div{facets}")
    counts = [int(text) for text in page.words if text.strip().isdigit()]
    links = [link for link in page.links if link.startswith("?")]
    assert len(links) == len(counts) > 12
    for link, count in zip(links, counts, strict=True):
        assert len(client.get(f"/api/v1/calls{link}&limit=1000").json()["calls"]) == count, link
