"""The reviews: archive, page and JSON say what is stored; what people add is theirs to change, on record, and of no other site."""

from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine, text

from collector.review_store import ReviewStore, Stored
from dashboard import review_words
from dashboard.forgery import COOKIE, FIELD
from dashboard.review_example import REVIEW
from schemas.reviewing import KEYS, Share
from schemas.weeks import week_named
from tests import seeds
from tests.dashboard.reading import Page
from tests.tables import sentences

WEEK = "2026-W48"
LATER = "2026-W49"


def stored(engine: Engine, week: str, revision: int = 1, **changes: Any) -> None:
    record = {**REVIEW, "week": week, "zone": "UTC", "revision": revision, "actions": [], **changes}
    ReviewStore(engine).save("UTC", week, Stored(revision, seeds.NOW_NS, {}, record))


@pytest.fixture(autouse=True)
def _reviews(engine: Engine) -> None:
    stored(engine, WEEK)
    stored(engine, LATER, 0, partial=True)


def posted(client: TestClient, path: str, **fields: str) -> Any:
    """Post a form of our own page."""
    client.get(f"/reviews/{WEEK}")
    return client.post(path, data={FIELD: client.cookies[COOKIE], **fields}, follow_redirects=False)


def actions(client: TestClient, week: str = WEEK) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.get(f"/api/v1/reviews/{week}").json()["actions"]
    return found


def rows(engine: Engine, query: str) -> list[Any]:
    with engine.connect() as connection:
        return list(connection.execute(text(query)).scalars())


def test_the_archive_lists_the_newest_week_first(client: TestClient) -> None:
    page = Page(client.get("/reviews").text)
    assert page.text.index(LATER) < page.text.index(WEEK)
    assert "partial" in page.text
    assert f"/reviews/{WEEK}" in page.links
    found = client.get("/api/v1/reviews").json()["reviews"]
    assert [(one["week"], one["partial"]) for one in found] == [(LATER, True), (WEEK, False)]
    table = client.get("/api/v1/reviews?format=csv").text.splitlines()
    assert table[0].startswith("week,zone,revision,partial,regressions,incidents,operations,")
    assert table[2].startswith(f"{WEEK},UTC,1,")


def test_a_review_has_the_keys_that_are_promised_and_the_page_its_numbers(client: TestClient) -> None:
    record = client.get(f"/api/v1/reviews/{WEEK}").json()
    assert tuple(record) == KEYS
    page = Page(client.get(f"/reviews/{WEEK}").text)
    for says in (
        "Weekly reliability review 2026-W48",
        "168 hours",
        "671 of 672 quarters of an hour",
        "13,502",
        "5.0 %, 45 of 900 (3.8 to 6.6 %)",
        "+3.0 points (+1.1 to +5.1)",
        "One share fell while the other rose",
        "13,402 of 13,502",
        "45 calls failed",
        "15 failures have other causes",
        "due",
        "Declare the category",
        "4 fired, 2 were acknowledged, 1 were over by themselves within 5 min, 0 flapped",
        "Newcombe",
    ):
        assert says in page.text, says
    behind = f"/calls?from={record['start'].replace(':', '%3A')}&to={record['end'].replace(':', '%3A')}&server=docs-mcp"
    assert any(link.startswith(behind) for link in page.links)


def test_the_links_of_a_review_are_pages(client: TestClient) -> None:
    page = Page(client.get(f"/reviews/{WEEK}").text)
    for link in page.links:
        if link.startswith(("/tools/", "/calls?")):
            assert client.get(link).status_code == 200, link


def test_the_navigation_leads_there(client: TestClient) -> None:
    elements = Page(client.get(f"/reviews/{WEEK}").text).elements
    assert ("a", {"href": "/reviews", "aria-current": "page"}) in elements


def test_another_revision_is_shown_when_it_is_asked_for(client: TestClient, engine: Engine) -> None:
    stored(engine, WEEK, 2, hours=169)
    assert client.get(f"/api/v1/reviews/{WEEK}").json()["hours"] == 169
    assert client.get(f"/api/v1/reviews/{WEEK}?revision=1").json()["hours"] == 168
    assert "?revision=1" in Page(client.get(f"/reviews/{WEEK}").text).links


@sentences(
    "path, status",
    {
        "a week that nobody reviewed": ("/reviews/2026-W01", 404),
        "no week": ("/reviews/latest", 404),
        "a week that there is not": ("/api/v1/reviews/2025-W53", 404),
        "a revision that there is not": (f"/api/v1/reviews/{WEEK}?revision=7", 404),
        "no revision": (f"/api/v1/reviews/{WEEK}?revision=x", 400),
        "a filter": (f"/reviews/{WEEK}?tool=x", 400),
    },
)
def test_what_is_not_there_is_said(client: TestClient, path: str, status: int) -> None:
    answer = client.get(path)
    assert answer.status_code == status
    assert "week" in answer.text or "revision" in answer.text or "filter" in answer.text


def test_without_reviews_the_archive_says_when_there_will_be_one(client: TestClient, engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(text("DELETE FROM review"))
    assert "There is no review yet" in client.get("/reviews").text


def test_an_action_item_is_carried_over_until_it_is_closed(client: TestClient, engine: Engine) -> None:
    answer = posted(client, f"/reviews/{WEEK}/actions", text="Back off", owner="kim", due="2026-12-24")
    assert (answer.status_code, answer.headers["location"]) == (303, f"/reviews/{WEEK}#actions")
    [one] = actions(client)
    assert (one["text"], one["owner"], one["due"], one["closed_ns"]) == ("Back off", "kim", "2026-12-24", None)
    assert actions(client, LATER) == [one]
    answer = posted(client, f"/review-actions/{one['id']}/close", who="lee", week=LATER)
    assert answer.headers["location"] == f"/reviews/{LATER}#actions"
    # It was closed in the later week: it stays on that one, and on the one that it was noted in.
    assert [(row["closed_ns"], row["closed_by"]) for row in actions(client, LATER)] == [(seeds.NOW_NS, "lee")]
    stored(engine, "2026-W50", 0)
    assert actions(client, "2026-W50") == []
    assert "Back off" in client.get(f"/reviews/{WEEK}").text
    posted(client, f"/review-actions/{one['id']}/open", who="kim")
    assert actions(client, "2026-W50") == [one]
    posted(client, f"/review-actions/{one['id']}", who="kim", text="Back off more", owner="lee", due="")
    assert [(row["text"], row["owner"], row["due"]) for row in actions(client)] == [("Back off more", "lee", "")]
    done = ["action item", "close action item", "open action item again", "change action item"]
    assert sorted(rows(engine, "SELECT what FROM audit")) == sorted(done)


def test_an_action_item_of_a_later_week_is_not_in_an_earlier_one(client: TestClient) -> None:
    posted(client, f"/reviews/{LATER}/actions", text="Later", owner="kim")
    assert actions(client) == []
    assert len(actions(client, LATER)) == 1


def test_a_note_is_shown_with_who_wrote_it(client: TestClient) -> None:
    assert posted(client, f"/reviews/{WEEK}/notes", who="kim", text="Deploy on <Tuesday>").status_code == 303
    assert "Deploy on <Tuesday>" in Page(client.get(f"/reviews/{WEEK}").text).text
    [note] = client.get("/api/v1/reviews").json()["reviews"][1]["notes"]
    assert (note["who"], note["text"]) == ("kim", "Deploy on <Tuesday>")


@sentences(
    "path, fields, status",
    {
        "nothing to do": (f"/reviews/{WEEK}/actions", {"text": " ", "owner": "kim"}, 400),
        "nobody does it": (f"/reviews/{WEEK}/actions", {"text": "x"}, 400),
        "until no date": (f"/reviews/{WEEK}/actions", {"text": "x", "owner": "kim", "due": "soon"}, 400),
        "under no review": ("/reviews/2026-W02/actions", {"text": "x", "owner": "kim"}, 404),
        "under no week": ("/reviews/x/actions", {"text": "x", "owner": "kim"}, 404),
        "a note of nobody": (f"/reviews/{WEEK}/notes", {"text": "x"}, 400),
        "a note under no review": ("/reviews/2026-W02/notes", {"who": "kim", "text": "x"}, 404),
        "closing what is not there": ("/review-actions/ff/close", {"who": "kim"}, 404),
        "opening what is not there": ("/review-actions/ff/open", {"who": "kim"}, 404),
        "changing what is not there": ("/review-actions/ff", {"who": "kim", "text": "x", "owner": "kim"}, 404),
        "nobody changes": ("/review-actions/ff/close", {}, 400),
    },
)
def test_what_cannot_be_added_is_refused_and_leaves_no_trace(
    client: TestClient, engine: Engine, path: str, fields: dict[str, str], status: int
) -> None:
    assert posted(client, path, **fields).status_code == status
    assert rows(engine, "SELECT what FROM audit") == []
    assert rows(engine, "SELECT id FROM review_action") == rows(engine, "SELECT id FROM review_note") == []


@pytest.mark.parametrize("path", [f"/reviews/{WEEK}/actions", f"/reviews/{WEEK}/notes", "/review-actions/aa", "/review-actions/aa/close"])
def test_another_site_changes_nothing(client: TestClient, engine: Engine, path: str) -> None:
    fields = {"who": "eve", "text": "x", "owner": "eve"}
    assert client.post(path, data=fields).status_code == 403
    client.get(f"/reviews/{WEEK}")
    whole = {FIELD: client.cookies[COOKIE], **fields}
    assert client.post(path, data=whole, headers={"origin": "https://evil.example"}).status_code == 403
    assert rows(engine, "SELECT what FROM audit") == []


def test_hostile_names_are_text(client: TestClient, engine: Engine) -> None:
    for place, name in enumerate(seeds.HOSTILE_NAMES, 1):
        cause = {**REVIEW["pareto"]["rows"][0], "server": name, "tool": name}
        stored(engine, f"2026-W{place:02d}", pareto={**REVIEW["pareto"], "rows": [cause]})
        answer = client.get(f"/reviews/2026-W{place:02d}")
        assert answer.status_code == 200
        assert not [tag for tag, attributes in Page(answer.text).elements if tag == "script" and not attributes.get("src")]
        assert not [tag for tag, _ in Page(answer.text).elements if tag == "img"]


@sentences(
    "share, shown",
    {
        "none of some has an upper bound": (Share(0, 40, 0.0, 0.0, 0.0876), "0 of 40 (≤ 8.8 %)"),
        "all of some has a lower one": (Share(40, 40, 1.0, 0.9124, 1.0), "40 of 40 (≥ 91.2 %)"),
        "none of none is a dash": (Share(0, 0, None, None, None), "\u2013 (none)"),
        "few are counts": (Share(3, 12, 0.25, 0.09, 0.53), "3 of 12"),
        "some have an interval": (Share(45, 900, 0.05, 0.0376, 0.0662), "5.0 %, 45 of 900 (3.8 to 6.6 %)"),
        "many have none": (Share(450, 9000, 0.05, 0.0457, 0.0547), "5.0 %, 450 of 9,000"),
    },
)
def test_a_share_is_written_with_its_counts(share: Share, shown: str) -> None:
    assert review_words.share({name: getattr(share, name) for name in Share.__slots__}) == shown


@sentences(
    "value, shown",
    {
        "none": (None, "\u2013"),
        "a part": (0.43, "43.0 %"),
        "all of it and more": (1.6, "160 %"),
        "many times": (43.27, "43 times"),
    },
)
def test_a_budget_is_written_as_what_is_used_of_it(value: float | None, shown: str) -> None:
    assert review_words.budget(value) == shown


@sentences(
    "value, shown",
    {
        "beyond four weeks": (None, "not in sight"),
        "gone": (0.0, "used up"),
        "today": (0.4, "< 1 day"),
        "soon": (3.2, "3 days"),
    },
)
def test_how_long_a_budget_lasts(value: float | None, shown: str) -> None:
    assert review_words.days(value) == shown


def test_the_example_is_of_a_week_that_there_is() -> None:
    week = week_named(REVIEW["week"], REVIEW["zone"])
    assert (week.start_ns, week.hours) == (week_named(WEEK, "Europe/Berlin").start_ns, REVIEW["hours"])
