"""Where things live: the paths of tools and calls, and the lists of calls behind numbers. Pure."""

from collections.abc import Mapping
from urllib.parse import quote, urlsplit

from dashboard.filters import Filter
from dashboard.text import path_segment


def page(path: str, question: Filter, **beside: str) -> str:
    """A page of this program with the same question."""
    query = question.query(beside)
    return f"{path}?{query}" if query else path


def here(question: Filter, **beside: object) -> str:
    """The same page with the same question; parameters of the page that are empty are left out."""
    return "?" + question.query({name: str(value) for name, value in beside.items() if value})


def tool(question: Filter, server: str, name: str) -> str:
    """The page of a tool; the server and the tool are in the path, the rest of the question in the query."""
    path = f"/tools/{path_segment(server)}/{path_segment(name)}"
    return page(path, question.but(server=None, tool=None))


def calls(question: Filter, **changes: str | None) -> str:
    """The calls behind a number: the question with more filters."""
    return page("/calls", question.but(**changes))


def call(trace_id: str, call_id: str) -> str:
    """The page of one call."""
    return f"/calls/{trace_id}/{call_id}"


def external(template: str | None, ids: Mapping[str, str]) -> str | None:
    """The user's trace store, from a template with {trace_id} and {span_id}; None unless it is plain http or https."""
    if not template or urlsplit(template).scheme not in ("http", "https"):
        return None
    link = template
    for name, value in ids.items():
        link = link.replace(f"{{{name}}}", quote(value, safe=""))
    return link
