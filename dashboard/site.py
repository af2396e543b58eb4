"""What every page needs to answer: database, settings, clock, templates, and the forms of an answer (page, JSON, CSV)."""

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import orjson
from fastapi import Depends, Request
from fastapi.responses import HTMLResponse, Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from sqlalchemy import Connection, Engine

from dashboard import explain, filters, health_queries, kinds, links, queries, text, words
from dashboard.assets import Assets
from dashboard.filters import Filter
from dashboard.tally import Ratio
from schemas.export import csv_cell
from schemas.settings import Settings

THEMES = ("light", "dark")
# The script of a page asks for the page again with this header; what does not change live is then left out.
REFRESH_HEADER = "x-toolvitals-refresh"
# Parameters that every page knows beside the filters.
COMMON = frozenset({"theme", "format"})


class Section(NamedTuple):
    """One entry of the navigation; `keeps` says whether the filters go along."""

    path: str
    label: str
    keeps: bool = True


SECTIONS = (
    Section("/", "Overview"),
    Section("/tools", "Tools"),
    Section("/calls", "Calls"),
    Section("/health", "Health", keeps=False),
)


@dataclass(frozen=True, slots=True)
class Site:
    """What pages are made from. `clock` gives nanoseconds since the epoch, `newest_schema` the schema this program wants."""

    engine: Engine
    settings: Settings
    clock: Callable[[], int]
    assets: Assets
    templates: Environment
    newest_schema: str


async def the_site(request: Request) -> Site:
    """The site of the application that got the request."""
    site: Site = request.app.state.site
    return site


TheSite = Annotated[Site, Depends(the_site)]


def make_templates(assets: Assets) -> Environment:
    """The template environment: everything escaped, hidden characters spelled out, and an error for a name that does not exist."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=text.finalized,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        block=text.block,
        json_for_html=text.json_for_html,
        count=words.count,
        compact=words.compact,
        percent=words.percent,
        duration=words.duration,
        span=words.span,
        iso=words.iso,
        iso_exact=words.iso_exact,
    )
    environment.globals.update(
        asset=assets.url,
        links=links,
        kinds=kinds,
        explain=explain,
        Ratio=Ratio,
        sections=SECTIONS,
        presets=tuple(filters.PRESETS),
        NONE=filters.NONE,
        dash=words.DASH,
        ago=words.ago,
        clock_time=words.clock_time,
    )
    return environment


def ask(request: Request, now_ns: int, *beside: str, calls: bool = False) -> Filter:
    """The question of a request. Raises FilterError."""
    return filters.parse(request.query_params.multi_items(), now_ns, beside=COMMON.union(beside), calls=calls)


def whole_number(request: Request, name: str, default: int, largest: int) -> int:
    """A parameter of 1 to `largest`. Raises FilterError."""
    given = request.query_params.get(name) or str(default)
    number = int(given) if given.isascii() and given.isdigit() and len(given) < 10 else 0
    if not 1 <= number <= largest:
        raise filters.FilterError([f"“{name}” takes a whole number from 1 to {largest}."])
    return number


def frame(site: Site, connection: Connection, request: Request, question: Filter | None, now_ns: int) -> dict[str, Any]:
    """What stands around the content of a page: freshness, and what the filters offer (left out on a live refresh).

    `here` is the question as the page's own address asks it; a page that has a part of it in its path takes that part away.
    """
    offered: dict[str, tuple[str, ...]] = {}
    if question is not None and REFRESH_HEADER not in request.headers:
        offered = queries.names(connection, question)
    fresh = health_queries.freshness(connection, now_ns, site.settings.clock_skew_s)
    return {"question": question, "here": question, "now_ns": now_ns, "fresh": fresh, "offered": offered}


def page(request: Request, site: Site, template: str, status: int = 200, **context: Any) -> HTMLResponse:
    """A rendered page."""
    asked = request.query_params.get("theme", "")
    made = site.templates.get_template(template).render(
        {"question": None, "here": None, "fresh": None, "offered": {}, **context},
        path=request.url.path,
        theme=asked if asked in THEMES else "auto",
    )
    return HTMLResponse(made, status_code=status, headers={"cache-control": "no-cache, private"})


def as_json(value: Any, status: int = 200) -> Response:
    """A JSON answer; dataclasses become objects."""
    return Response(orjson.dumps(value), status, {"cache-control": "no-cache, private"}, "application/json")


def as_csv(name: str, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> Response:
    """A table as a file for spreadsheets, with nothing in it that one would calculate or that would reorder text."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(header)
    writer.writerows([text.visible(csv_cell(value), keep="\n\t") for value in row] for row in rows)
    headers = {"content-disposition": f'attachment; filename="{name}.csv"', "cache-control": "no-cache, private"}
    return Response(out.getvalue(), 200, headers, "text/csv; charset=utf-8")


def wants_csv(request: Request) -> bool:
    """Whether the table is asked for as CSV. Raises FilterError for a format that there is not."""
    asked = request.query_params.get("format") or "json"
    if asked not in ("json", "csv"):
        raise filters.FilterError(["“format” is json or csv."])
    return asked == "csv"
