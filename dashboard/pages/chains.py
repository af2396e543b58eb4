"""Operations that did not go well at once: a list of them, and one with its attempts."""

from typing import Any

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import Response
from sqlalchemy import Connection

from dashboard import attempt_line, chain_queries, queries
from dashboard.pages.call import hour_around
from dashboard.pages.retries import ask_operations
from dashboard.site import TheSite, as_csv, as_json, choice, frame, only, page, wants_csv, whole_number
from schemas.operations import OPEN, STATES, STRENGTHS

router = APIRouter()

A_PAGE = 50
API_DEFAULT = 100
MOST = 1000


@router.get("/chains", include_in_schema=False)
def chains_page(request: Request, site: TheSite) -> Response:
    """The list, newest first."""
    now_ns = site.clock()
    question, strength = ask_operations(site, request, now_ns, "state", "cursor")
    state = choice(request, "state", ("", *STATES))
    cursor = request.query_params.get("cursor", "")
    after = chain_queries.ChainCursor.parse(cursor) if cursor else None
    with queries.snapshot(site.engine) as connection:
        around = frame(site, connection, request, question, now_ns)
        found = chain_queries.list_chains(connection, question, now_ns, A_PAGE, state or None, strength, after)
    return page(
        request,
        site,
        "chains.html",
        found=found,
        state=state,
        states=STATES,
        cursor=cursor,
        strength=strength,
        strengths=STRENGTHS[::-1],
        keep={"state": state, "strength": strength if strength != STRENGTHS[-1] else ""},
        live=question.live and not cursor,
        **around,
    )


@router.get("/chains/{chain_id}", include_in_schema=False)
def chain_page(request: Request, site: TheSite, chain_id: str) -> Response:
    """One operation with its attempts on a time line."""
    now_ns = site.clock()
    with queries.snapshot(site.engine) as connection:
        around = frame(site, connection, request, None, now_ns)
        found = _read(request, connection, chain_id, now_ns)
    return page(
        request,
        site,
        "chain.html",
        chain=found.chain,
        line=attempt_line.attempts(found.attempts),
        after=int(request.query_params.get("after") or 0),
        following=found.next,
        about=hour_around(found.chain["start_ns"], around["zone_asked"]),
        # What is open may still change.
        live=found.chain["state"] == OPEN,
        **around,
    )


def _read(request: Request, connection: Connection, chain_id: str, now_ns: int) -> chain_queries.OneChain:
    only(request, "after")
    after = whole_number(request, "after", 1, 10**8) if request.query_params.get("after") else 0
    found = chain_queries.one_chain(connection, chain_id, now_ns, after)
    if found is None:
        raise HTTPException(404, "There is no such operation. It may have aged out, or an earlier call that came later gave it another id.")
    return found


@router.get("/api/v1/chains", tags=["read"])
def chains_json(request: Request, site: TheSite) -> Response:
    """Matching operations that failed or were retried, newest first: {"chains": […], "next": cursor or null}.

    `state` (open, recovered, exhausted, missed, abandoned, failed, ended), `strength`, `limit` of 1 to 1000, `cursor`, `format=csv`.
    """
    now_ns = site.clock()
    question, strength = ask_operations(site, request, now_ns, "state", "limit", "cursor")
    state, to_csv = choice(request, "state", ("", *STATES)) or None, wants_csv(request)
    limit = whole_number(request, "limit", MOST if to_csv else API_DEFAULT, MOST)
    cursor = request.query_params.get("cursor", "")
    after = chain_queries.ChainCursor.parse(cursor) if cursor else None
    with queries.snapshot(site.engine) as connection:
        found = chain_queries.list_chains(connection, question, now_ns, limit, state, strength, after)
    if to_csv:
        return as_csv("chains", chain_queries.RECORD_KEYS, (list(record.values()) for record in found.records))
    following: dict[str, Any] = {"next": str(found.next) if found.next else None}
    return as_json({"chains": found.records, **following})


@router.get("/api/v1/chains/{chain_id}", tags=["read"])
def chain_json(request: Request, site: TheSite, chain_id: str) -> Response:
    """One operation with its attempts in order, also one of a single call; `after` goes on after so many of them."""
    to_csv = wants_csv(request)
    with queries.snapshot(site.engine) as connection:
        found = _read(request, connection, chain_id, site.clock())
    if to_csv:
        header = tuple(found.attempts[0]) if found.attempts else ()
        return as_csv("attempts", header, (list(one.values()) for one in found.attempts))
    return as_json(found)
