"""The forms and addresses by which people say that a suspect is meant to answer as it does."""

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Body, HTTPException, Request
from fastapi.responses import RedirectResponse, Response
from starlette.concurrency import run_in_threadpool

from dashboard import queries, suppression_queries, suppression_writes
from dashboard.forgery import foreign, posted_form
from dashboard.site import TheSite, as_json, only

router = APIRouter()

LONGEST_TEXT = 200
# Names of servers and tools are longer at times than what people write.
LONGEST_NAME = 1_000


@router.get("/api/v1/by-design", tags=["read"])
def by_design_json(request: Request, site: TheSite) -> Response:
    """The tools that are marked as by design, the first to expire first."""
    only(request)
    with queries.snapshot(site.engine) as connection:
        return as_json({"by_design": [one.record() for one in suppression_queries.by_design(connection, site.clock())]})


@router.post("/api/v1/by-design", tags=["write"], status_code=201)
async def mark_json(request: Request, site: TheSite, asked: Annotated[dict[str, Any], Body()]) -> Response:
    """Mark a tool as by design for 90 days: `server`, `tool`, `note`, `who`. Answers with the mark."""
    # A form of another site cannot send JSON, and its scripts say where they come from.
    if foreign(request.headers) or not request.headers.get("content-type", "").startswith("application/json"):
        raise HTTPException(403, "Marks are asked for as application/json, and not by another site.")
    given = _wanted({name: str(asked.get(name) or "") for name in ("server", "tool", "note", "who")})
    made = await run_in_threadpool(suppression_writes.mark, site.engine, *given, site.clock())
    return as_json(made.record(), 201)


@router.post("/empties/by-design", include_in_schema=False)
async def mark(request: Request, site: TheSite) -> Response:
    """Mark a tool as by design."""
    given = _wanted(await posted_form(request))
    await run_in_threadpool(suppression_writes.mark, site.engine, *given, site.clock())
    return RedirectResponse("/empties#card-suspects", 303)


@router.post("/empties/by-design/end", include_in_schema=False)
async def unmark(request: Request, site: TheSite) -> Response:
    """Take the mark off a tool."""
    fields = await posted_form(request)
    who = _text(fields, "who", "Say who you are.")
    server, tool = _place(fields)
    if not await run_in_threadpool(suppression_writes.unmark, site.engine, server, tool, who, site.clock()):
        raise HTTPException(404, "This tool is not marked as by design, or no longer.")
    return RedirectResponse("/empties#card-suspects", 303)


def _wanted(fields: Mapping[str, str]) -> tuple[str, str, str, str]:
    note = _text(fields, "note", "Say why it is meant to be so: whoever looks later wants to know.")
    return *_place(fields), note, _text(fields, "who", "Say who you are.")


def _place(fields: Mapping[str, str]) -> tuple[str, str]:
    server, tool = fields.get("server", ""), fields.get("tool", "")
    if not tool or len(tool) > LONGEST_NAME or len(server) > LONGEST_NAME:
        raise HTTPException(400, "Say which tool is meant.")
    return server, tool


def _text(fields: Mapping[str, str], name: str, problem: str) -> str:
    text = fields.get(name, "").strip()[:LONGEST_TEXT]
    if not text:
        raise HTTPException(400, problem)
    return text
