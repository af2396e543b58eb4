"""What is wrong now and was, by which rules, who was told; and the forms by which people acknowledge and silence."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Body, HTTPException, Request
from fastapi.responses import RedirectResponse, Response
from sqlalchemy import Connection
from starlette.concurrency import run_in_threadpool

from dashboard import alert_queries, alert_writes, queries
from dashboard.filters import FilterError
from dashboard.forgery import COOKIE, FIELD, foreign, form_token, posted_form
from dashboard.rule_strips import Strip, strip
from dashboard.site import TheSite, as_csv, as_json, frame, only, page, wants_csv
from schemas.alerting import FIRING, HOUR_NS, PENDING, QUARTER_NS, RESOLVED, STATES

router = APIRouter()

LONGEST_TEXT = 200
DAY_NS = 24 * HOUR_NS
# Labels and attributes that a silence may ask for beside those of rules.
MATCHED = ("rule", "server", "tool", "severity", "class")
HOURS = (1, 4, 24, 168)
REMEDIES = {
    "transient": "Back off, and check the backend: nothing about the calls themselves is wrong.",
    "validation": "A schema or a prompt changed: compare the arguments of the calls with the tool's schema.",
    "permission": "Check the credential and its scopes; retrying does not help.",
    "business": "A policy changed or is asked for too much: ask its owner.",
    "unclassified": "Look at the calls: nothing in them says what kind of failure it is. The Health page says what to add.",
}


@router.get("/alerts", include_in_schema=False)
def alerts_page(request: Request, site: TheSite) -> Response:
    """The page."""
    only(request)
    now_ns = site.clock()
    token = form_token(request)
    with queries.snapshot(site.engine) as connection:
        around = frame(site, connection, request, None, now_ns)
        found = alert_queries.with_changes(connection, alert_queries.alerts(connection, limit=100))
        context: dict[str, Any] = {
            "firing": [one for one in found if one.state == FIRING],
            "pending": [one for one in found if one.state == PENDING],
            "history": [one for one in found if one.state == RESOLVED],
            "silences": alert_queries.silences(connection, now_ns),
            "rules": _with_strips(connection, now_ns),
            "channels": alert_queries.channels(connection),
            "deliveries": alert_queries.deliveries(connection),
            "audit": alert_queries.audit(connection, 20),
        }
    response = page(
        request,
        site,
        "alerts.html",
        form_field=FIELD,
        form_token=token,
        remedies=REMEDIES,
        hours=HOURS,
        matched=MATCHED,
        **context,
        **around,
    )
    response.set_cookie(COOKIE, token, httponly=True, samesite="strict", secure=request.url.scheme == "https")
    return response


@router.get("/api/v1/alerts", tags=["read"])
def alerts_json(request: Request, site: TheSite) -> Response:
    """Alerts, those that fire first; `state` is firing, pending or resolved, or left out for all."""
    only(request, "state")
    asked = request.query_params.get("state") or ""
    if asked and asked not in STATES:
        raise FilterError([f"“state” is one of {', '.join(STATES)}."])
    with queries.snapshot(site.engine) as connection:
        found = [one.record() for one in alert_queries.alerts(connection, (asked,) if asked else STATES)]
    if wants_csv(request):
        names = ("rule", "severity", "class", "state", "started_ns", "fired_ns", "resolved_ns", "acknowledged_by", "muted_by")
        return as_csv("alerts", ("server", "tool", *names), ([*_place(one), *(one[name] for name in names)] for one in found))
    return as_json({"alerts": found})


@router.get("/api/v1/silences", tags=["read"])
def silences_json(request: Request, site: TheSite) -> Response:
    """Silences that are not over."""
    only(request)
    with queries.snapshot(site.engine) as connection:
        return as_json({"silences": alert_queries.silences(connection, site.clock())})


@router.post("/api/v1/silences", tags=["write"], status_code=201)
async def silence_json(request: Request, site: TheSite, asked: Annotated[dict[str, Any], Body()]) -> Response:
    """Silence what matches: `matchers` (name to pattern), `hours`, `created_by`, `reason`. Answers with its id."""
    # A form of another site cannot send JSON, and its scripts say where they come from.
    if foreign(request.headers) or not request.headers.get("content-type", "").startswith("application/json"):
        raise HTTPException(403, "Silences are asked for as application/json, and not by another site.")
    given = asked.get("matchers")
    texts = {str(name): str(pattern) for name, pattern in given.items()} if isinstance(given, dict) else {}
    wanted = _wanted({**texts, **{name: str(asked.get(name, "")) for name in ("hours", "created_by", "reason")}}, set(texts))
    made = await run_in_threadpool(_write, site, wanted)
    return as_json({"id": made}, 201)


@router.post("/alerts/{alert_id}/acknowledge", include_in_schema=False)
async def acknowledge(request: Request, site: TheSite, alert_id: str) -> Response:
    """Note who has an alert."""
    fields = await posted_form(request)
    who = _text(fields, "who", "Say who you are.")
    done = await run_in_threadpool(
        alert_writes.acknowledge, site.engine, alert_id, who, fields.get("note", "")[:LONGEST_TEXT], site.clock()
    )
    if not done:
        raise HTTPException(404, "There is no such alert, or it is over.")
    return RedirectResponse(f"/alerts#{alert_id}" if re.fullmatch(r"[0-9a-f]+", alert_id) else "/alerts", 303)


@router.post("/alerts/channels/{name}/test", include_in_schema=False)
async def test_channel(request: Request, site: TheSite, name: str) -> Response:
    """Have the worker send a test to a channel."""
    fields = await posted_form(request)
    who = _text(fields, "who", "Say who you are.")
    if not await run_in_threadpool(alert_writes.send_test, site.engine, name, who, site.settings.site, site.clock()):
        raise HTTPException(404, "There is no such channel.")
    return RedirectResponse("/alerts#channels", 303)


@router.post("/silences", include_in_schema=False)
async def silence(request: Request, site: TheSite) -> Response:
    """Silence what matches."""
    fields = await posted_form(request)
    wanted = _wanted({**fields, "created_by": fields.get("who", "")}, set(MATCHED))
    await run_in_threadpool(_write, site, wanted)
    return RedirectResponse("/alerts#silences", 303)


@router.post("/silences/{silence_id}/end", include_in_schema=False)
async def end_silence(request: Request, site: TheSite, silence_id: str) -> Response:
    """End a silence now."""
    fields = await posted_form(request)
    who = _text(fields, "who", "Say who you are.")
    if not await run_in_threadpool(alert_writes.end_silence, site.engine, silence_id, who, site.clock()):
        raise HTTPException(404, "There is no such silence, or it is over.")
    return RedirectResponse("/alerts#silences", 303)


@dataclass(frozen=True, slots=True)
class _Wanted:
    matchers: Mapping[str, str]
    hours: int
    who: str
    why: str


def _with_strips(connection: Connection, now_ns: int) -> list[tuple[Any, Strip | None]]:
    """Every rule with what it saw in the last day."""
    since_ns = now_ns - DAY_NS
    seen, fired = alert_queries.seen_by_rules(connection, since_ns - since_ns % QUARTER_NS), alert_queries.firings(connection, since_ns)
    return [
        (rule, strip(seen.get(rule.name, ()), rule.threshold, fired.get(rule.name, ()), since_ns, now_ns, QUARTER_NS))
        for rule in alert_queries.rules(connection)
    ]


def _wanted(fields: Mapping[str, str], names: set[str]) -> _Wanted:
    matchers = {name: fields[name].strip()[:LONGEST_TEXT] for name in sorted(names) if fields.get(name, "").strip()}
    if not matchers or all(pattern == "*" for pattern in matchers.values()):
        raise HTTPException(400, "Say what is silenced: a rule, a server or a tool. All alerts at once cannot be.")
    hours = fields.get("hours", "")
    if not (hours.isascii() and hours.isdigit() and 1 <= int(hours[:6]) <= 24 * 30):
        raise HTTPException(400, "A silence lasts 1 to 720 whole hours.")
    return _Wanted(
        matchers,
        int(hours),
        _text(fields, "created_by", "Say who you are."),
        _text(fields, "reason", "Say why: whoever looks later wants to know."),
    )


def _write(site: TheSite, wanted: _Wanted) -> str:
    now_ns = site.clock()
    return alert_writes.silence(site.engine, wanted.matchers, now_ns, now_ns + wanted.hours * HOUR_NS, wanted.who, wanted.why, now_ns)


def _text(fields: Mapping[str, str], name: str, problem: str) -> str:
    text = fields.get(name, "").strip()[:LONGEST_TEXT]
    if not text:
        raise HTTPException(400, problem)
    return text


def _place(record: Mapping[str, Any]) -> tuple[str | None, str | None]:
    return record["labels"].get("server"), record["labels"].get("tool")
