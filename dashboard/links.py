"""Where things live: the paths of tools and calls, and the lists of calls behind numbers. Pure."""

from collections.abc import Iterable, Mapping
from urllib.parse import quote, urlencode, urlsplit

from dashboard.filters import Filter
from dashboard.kinds import Kind
from dashboard.text import path_segment
from dashboard.words import iso


def page(path: str, question: Filter, **beside: str) -> str:
    """A page of this program with the same question."""
    query = question.query(beside)
    return f"{path}?{query}" if query else path


def here(question: Filter, **beside: object) -> str:
    """The same page with the same question; parameters of the page that are empty are left out."""
    return "?" + question.query({name: str(value) for name, value in beside.items() if value})


def tool(question: Filter, server: str, name: str, **beside: str) -> str:
    """The page of a tool; the server and the tool are in the path, the rest of the question in the query."""
    path = f"/tools/{path_segment(server)}/{path_segment(name)}"
    return page(path, question.but(server=None, tool=None), **beside)


def calls(question: Filter, **changes: str | None) -> str:
    """The calls behind a number: the question with more filters."""
    return page("/calls", question.but(**changes))


def rests(question: Filter, drawn: Iterable[Kind]) -> dict[str, str]:
    """What follows the time in the lists of calls of some kinds: the many links of one table share it."""
    changed = {kind.name: question.but(**kind.filters) for kind in drawn}
    return {name: "".join(f"&{urlencode({key: value})}" for key, value in (one.active | one.view).items()) for name, one in changed.items()}


def calls_between(from_ns: int, to_ns: int) -> str:
    """The beginning of the lists of calls of a stretch of time; what `rests` gave follows."""
    return f"/calls?from={iso(from_ns)}&to={iso(to_ns)}"


def call(trace_id: str, call_id: str, zone: str = "") -> str:
    """The page of one call."""
    return plain(f"/calls/{trace_id}/{call_id}", zone)


def plain(path: str, zone: str = "", **beside: object) -> str:
    """A page that takes no filters; the zone goes along, and parameters that are empty are left out."""
    query = urlencode({name: str(value) for name, value in (*beside.items(), ("zone", zone)) if value})
    return f"{path}?{query}" if query else path


def external(template: str | None, ids: Mapping[str, str]) -> str | None:
    """The user's trace store, from a template with {trace_id} and {span_id}; None unless it is plain http or https."""
    if not template or urlsplit(template).scheme not in ("http", "https"):
        return None
    link = template
    for name, value in ids.items():
        link = link.replace(f"{{{name}}}", quote(value, safe=""))
    return link
