"""What every page needs to answer: database, settings, clock, templates, and the forms of an answer (page, JSON, CSV)."""

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any, NamedTuple, Protocol

import orjson
from fastapi import Depends, Request
from fastapi.responses import HTMLResponse, Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from sqlalchemy import Connection, Engine

from dashboard import charts, explain, filters, health_queries, kinds, links, queries, sparkline, text, words
from dashboard.assets import Assets
from dashboard.filters import Filter
from dashboard.tally import Ratio
from schemas.calls import CATEGORIES
from schemas.export import csv_cell
from schemas.settings import Settings
from schemas.zones import zone_of

THEMES = ("light", "dark")
# The script of a page asks for the page again with this header, which names the parts that the reader sees (or says "all"); what
# does not change live, and what is out of sight, is then left out.
REFRESH_HEADER = "x-toolvitals-refresh"
# Parameters that every page knows beside the filters; `open` names what is unfolded, `span` whose evidence is shown: the script reads them.
COMMON = frozenset({"theme", "format", "open", "span"})


class Section(NamedTuple):
    """One entry of the navigation; `keeps` says whether the filters go along."""

    path: str
    label: str
    keeps: bool = True
    # Operations have several outcomes and categories: filters by them stay behind.
    kinds: bool = True


SECTIONS = (
    Section("/", "Overview"),
    Section("/tools", "Tools"),
    Section("/retries", "Retries", kinds=False),
    Section("/empties", "Empties"),
    Section("/calls", "Calls"),
    Section("/alerts", "Alerts", keeps=False),
    Section("/reviews", "Reviews", keeps=False),
    Section("/health", "Health", keeps=False),
)


class Demo(Protocol):
    """The demo fleet, where this process can start it."""

    @property
    def running(self) -> bool:
        """Whether it was started and has not ended."""

    def start(self) -> None:
        """Start it, unless it runs already."""


@dataclass(frozen=True, slots=True)
class Site:
    """What pages are made from. `clock` gives nanoseconds since the epoch, `newest_schema` the schema this program wants."""

    engine: Engine
    settings: Settings
    clock: Callable[[], int]
    assets: Assets
    templates: Environment
    newest_schema: str
    demo: Demo | None = None


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
        size=words.size,
        points=words.points,
        stamp=words.stamp,
        compact=words.compact,
        percent=_unbroken(words.percent),
        duration=_unbroken(words.duration),
        span=_unbroken(words.span),
        iso=words.iso,
        iso_exact=words.iso_exact,
        map_of=_map_of,
    )
    environment.globals.update(
        asset=assets.url,
        links=links,
        kinds=kinds,
        explain=explain,
        Ratio=Ratio,
        sections=SECTIONS,
        presets=tuple(filters.PRESETS),
        categories=CATEGORIES,
        sparkline=sparkline.paths,
        NONE=filters.NONE,
        dash=words.DASH,
        ago=words.ago,
        clock_time=words.clock_time,
    )
    return environment


def _unbroken(write: Callable[..., str]) -> Callable[..., str]:
    """A number stays on one line with its unit."""
    return lambda *given, **named: write(*given, **named).replace(" ", "\u00a0")


def _map_of(things: Iterable[Any], attribute: str) -> tuple[Any, ...]:
    """An attribute of each thing, None for what is not there: the values of a small line over time."""
    get = attrgetter(attribute)
    return tuple(None if thing is None else get(thing) for thing in things)


def ask(site: Site, request: Request, now_ns: int, *beside: str, calls: bool = False) -> Filter:
    """The question of a request. Raises FilterError."""
    given = request.query_params.multi_items()
    return filters.parse(given, now_ns, beside=COMMON.union(beside), calls=calls, team_zone=site.settings.zone)


def only(request: Request, *names: str) -> None:
    """Refuse parameters that a page without filters does not know. Raises FilterError."""
    unknown = sorted(set(request.query_params) - COMMON - {"zone", *names})
    if unknown:
        raise filters.FilterError([f"There is no filter named “{name[:80]}” on this page." for name in unknown])


def choice(request: Request, name: str, choices: Sequence[str]) -> str:
    """A parameter that is one of some words, the first if it is absent. Raises FilterError."""
    asked = request.query_params.get(name) or choices[0]
    if asked not in choices:
        raise filters.FilterError([f"“{name}” is one of {', '.join(choices)}."])
    return asked


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
    return {"question": question, "here": question, "now_ns": now_ns, "fresh": fresh, "offered": offered, **zone_of_page(site, request)}


def zone_of_page(site: Site, request: Request) -> dict[str, Any]:
    """The zone that a page shows its times in, its name, and the name as the address has it. Raises FilterError."""
    asked = request.query_params.get("zone", "")
    try:
        return {"zone": zone_of(asked or site.settings.zone), "zone_name": asked or site.settings.zone, "zone_asked": asked}
    except ValueError as error:
        raise filters.FilterError([f"{error}."]) from None


def page(request: Request, site: Site, template: str, status: int = 200, **context: Any) -> HTMLResponse:
    """A rendered page, or on a live refresh the parts of it that the reader sees.

    `keep` in the context are parameters of the page itself that stay when a filter changes.
    """
    asked = request.query_params.get("theme", "")
    refresh = request.headers.get(REFRESH_HEADER, "all")
    parts = None if refresh == "all" else frozenset(refresh.split())
    team = site.settings.zone
    around: dict[str, Any] = {
        "question": None,
        "here": None,
        "fresh": None,
        "offered": {},
        "keep": {},
        "now_ns": site.clock(),
        "zone": zone_of(team),
    }
    shown = around | {"zone_name": team, "zone_asked": ""} | context
    made = site.templates.get_template(template).render(
        shown,
        path=request.url.path,
        theme=asked if asked in THEMES else "auto",
        team_zone=team,
        zones=tuple(dict.fromkeys(("UTC", team, shown["zone_name"]))),
        refreshing=REFRESH_HEADER in request.headers,
        wants=lambda part: parts is None or part in parts,
    )
    return HTMLResponse(made, status_code=status, headers={"cache-control": "no-cache, private"})


def figure(draw: Callable[..., charts.Figure], *given: Any) -> Callable[[], charts.Figure]:
    """A chart that is drawn when the page shows it: a live refresh leaves out what is not in sight."""
    return lambda: draw(*given)


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
