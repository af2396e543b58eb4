"""Only a form of our own pages can post, and the demo starts only where it can."""

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from dashboard import forgery
from dashboard.app import create_app
from schemas.settings import Settings
from tests import seeds
from tests.dashboard.reading import Page


class Fleet:
    """A demo fleet that only counts how often it was started."""

    def __init__(self) -> None:
        self.started = 0

    @property
    def running(self) -> bool:
        return self.started > 0

    def start(self) -> None:
        self.started += 1


@pytest.fixture
def fleet() -> Fleet:
    return Fleet()


@pytest.fixture
def empty(engine: Engine, fleet: Fleet) -> TestClient:
    """A dashboard without calls that may start the fleet."""
    return TestClient(create_app(engine, Settings(), lambda: seeds.NOW_NS, fleet), base_url="http://dashboard:4320", follow_redirects=False)


def token_of(page: Page) -> str:
    [token] = [attributes["value"] for tag, attributes in page.elements if attributes.get("name") == forgery.FIELD]
    assert token is not None
    return token


def test_the_button_starts_the_fleet(empty: TestClient, fleet: Fleet) -> None:
    page = Page(empty.get("/").text)
    assert "Start the demo fleet" in page.text
    answer = empty.post(
        "/demo", data={forgery.FIELD: token_of(page)}, headers={"origin": "http://dashboard:4320", "sec-fetch-site": "same-origin"}
    )
    assert (answer.status_code, answer.headers["location"], fleet.started) == (303, "/", 1)
    assert "The demo fleet is running" in Page(empty.get("/").text).text


def test_two_open_pages_have_one_token(empty: TestClient) -> None:
    assert token_of(Page(empty.get("/").text)) == token_of(Page(empty.get("/").text))


@pytest.mark.parametrize(
    ("token", "headers"),
    [
        pytest.param("", {}, id="no token"),
        pytest.param("x" * 43, {}, id="another token"),
        pytest.param(None, {"origin": "https://evil.example"}, id="another origin"),
        pytest.param(None, {"origin": "null"}, id="an origin that is hidden"),
        pytest.param(None, {"sec-fetch-site": "cross-site"}, id="a browser says that another site asks"),
        pytest.param(None, {"sec-fetch-site": "same-site"}, id="another port of this host is another site"),
    ],
)
def test_a_foreign_form_is_refused(empty: TestClient, fleet: Fleet, token: str | None, headers: dict[str, str]) -> None:
    known = token_of(Page(empty.get("/").text))
    answer = empty.post("/demo", data={forgery.FIELD: known if token is None else token}, headers=headers)
    assert (answer.status_code, fleet.started) == (403, 0)
    assert "not sent by a page of this dashboard" in Page(answer.text).text


def test_without_the_cookie_a_token_is_worth_nothing(empty: TestClient, fleet: Fleet) -> None:
    known = token_of(Page(empty.get("/").text))
    empty.cookies.clear()
    assert empty.post("/demo", data={forgery.FIELD: known}).status_code == 403
    assert fleet.started == 0


def test_a_made_up_cookie_is_replaced(empty: TestClient) -> None:
    empty.cookies.set(forgery.COOKIE, '"><script>alert(1)</script>')
    assert len(token_of(Page(empty.get("/").text))) == 43


def test_an_endless_form_is_refused(empty: TestClient) -> None:
    assert empty.post("/demo", content=b"a=" + b"x" * (forgery.LONGEST_BODY + 1)).status_code == 413


def test_where_the_fleet_cannot_run_the_page_says_how(client: TestClient) -> None:
    page = Page(client.get("/").text)
    assert "toolvitals demo" in page.text
    assert not [tag for tag, _ in page.elements if tag == "form"]
    assert client.post("/demo", data={forgery.FIELD: client.cookies[forgery.COOKIE]}).status_code == 409
