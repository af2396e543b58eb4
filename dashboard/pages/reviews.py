"""The weekly reviews: their archive, one week, and the forms by which people note what is to be done."""

from datetime import date
from typing import Any

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import RedirectResponse, Response
from starlette.concurrency import run_in_threadpool

from dashboard import queries, review_queries, review_words, review_writes
from dashboard.filters import FilterError
from dashboard.forgery import COOKIE, FIELD, form_token, posted_form
from dashboard.review_queries import OneReview
from dashboard.site import TheSite, as_csv, as_json, frame, only, page, wants_csv
from schemas.weeks import Week, week_named

router = APIRouter()

LONGEST_NAME, LONGEST_TEXT = 200, 2_000


@router.get("/reviews", include_in_schema=False)
def archive_page(request: Request, site: TheSite) -> Response:
    """The archive."""
    only(request)
    with queries.snapshot(site.engine) as connection:
        around = frame(site, connection, request, None, site.clock())
        found = review_queries.archive(connection, site.settings.zone)
    return page(request, site, "reviews.html", reviews=found, say=review_words, **around)


@router.get("/api/v1/reviews", tags=["read"])
def archive_json(request: Request, site: TheSite) -> Response:
    """The reviews of the team's zone, the newest week first: the five numbers of each, and what people noted."""
    only(request)
    with queries.snapshot(site.engine) as connection:
        found = [one.record() for one in review_queries.archive(connection, site.settings.zone)]
    if wants_csv(request):
        names = ("week", "zone", "revision", "partial", "regressions", "incidents")
        rows = ([*(one[name] for name in names), *(one["numbers"][name]["value"] for name in review_words.NUMBERS)] for one in found)
        return as_csv("reviews", (*names, *review_words.NUMBERS), rows)
    return as_json({"reviews": found})


@router.get("/reviews/{week}", include_in_schema=False)
def review_page(request: Request, site: TheSite, week: str) -> Response:
    """One review."""
    only(request, "revision")
    token = form_token(request)
    with queries.snapshot(site.engine) as connection:
        around = frame(site, connection, request, None, site.clock())
        found = _found(request, site, connection, week)
    response = page(
        request,
        site,
        "review.html",
        review=found.record,
        created_ns=found.created_ns,
        revisions=found.revisions,
        notes=found.notes,
        say=review_words,
        base="",
        form_field=FIELD,
        form_token=token,
        **around,
    )
    response.set_cookie(COOKIE, token, httponly=True, samesite="strict", secure=request.url.scheme == "https")
    return response


@router.get("/api/v1/reviews/{week}", tags=["read"])
def review_json(request: Request, site: TheSite, week: str) -> Response:
    """The review of a week, named as 2026-W48: the newest revision, or the one that is asked for."""
    only(request, "revision")
    with queries.snapshot(site.engine) as connection:
        return as_json(_found(request, site, connection, week).record)


@router.post("/reviews/{week}/actions", include_in_schema=False)
async def add_action(request: Request, site: TheSite, week: str) -> Response:
    """Note something to do."""
    fields = await posted_form(request)
    done = await run_in_threadpool(
        review_writes.add_action, site.engine, site.settings.zone, _week(site, week).name, *_action(fields), site.clock()
    )
    return _back(week if done else None, "actions")


@router.post("/reviews/{week}/notes", include_in_schema=False)
async def add_note(request: Request, site: TheSite, week: str) -> Response:
    """Write a note."""
    fields = await posted_form(request)
    given = (_text(fields, "who", "Say who you are."), _text(fields, "text", "Write what is to be noted.", LONGEST_TEXT))
    done = await run_in_threadpool(review_writes.add_note, site.engine, site.settings.zone, _week(site, week).name, *given, site.clock())
    return _back(week if done else None, "notes")


@router.post("/review-actions/{action_id}", include_in_schema=False)
async def change_action(request: Request, site: TheSite, action_id: str) -> Response:
    """Say it in another way, or give it to somebody else."""
    fields = await posted_form(request)
    who = _text(fields, "who", "Say who you are.")
    week = await run_in_threadpool(review_writes.change_action, site.engine, action_id, who, *_action(fields), site.clock())
    return _back(_shown(fields, week), "actions")


@router.post("/review-actions/{action_id}/close", include_in_schema=False)
async def close_action(request: Request, site: TheSite, action_id: str) -> Response:
    """Note that it is done."""
    fields = await posted_form(request)
    who = _text(fields, "who", "Say who you are.")
    week = await run_in_threadpool(review_writes.close_action, site.engine, action_id, who, site.clock())
    return _back(_shown(fields, week), "actions")


@router.post("/review-actions/{action_id}/open", include_in_schema=False)
async def open_action(request: Request, site: TheSite, action_id: str) -> Response:
    """Note that it is not done after all."""
    fields = await posted_form(request)
    who = _text(fields, "who", "Say who you are.")
    week = await run_in_threadpool(review_writes.open_action, site.engine, action_id, who, site.clock())
    return _back(_shown(fields, week), "actions")


def _found(request: Request, site: TheSite, connection: Any, name: str) -> OneReview:
    week = _week(site, name)
    given = request.query_params.get("revision")
    if given is not None and not (given.isascii() and given.isdigit() and len(given) < 6):
        raise FilterError(["“revision” is a whole number: 0 while the week runs, then 1, 2, …"])
    found = review_queries.one(connection, week.zone, week.name, None if given is None else int(given), week.start_ns)
    if found is None:
        which = "no such revision of it" if given is not None else "no review of it yet: the worker makes it within the hour"
        raise HTTPException(404, f"There is {which}, or nothing was known of the week {week.name} in {week.zone}.")
    return found


def _week(site: TheSite, name: str) -> Week:
    try:
        return week_named(name, site.settings.zone)
    except ValueError as error:
        raise HTTPException(404, f"{error}.") from None


def _shown(fields: dict[str, str], week: str | None) -> str | None:
    """The review that the form stood on, if there was such an action: one that is carried over stands on several."""
    if week is None:
        return None
    try:
        return week_named(fields.get("week", ""), "UTC").name
    except ValueError:
        return week


def _back(week: str | None, part: str) -> Response:
    if week is None:
        raise HTTPException(404, "There is no such review or action item, or somebody else has changed it meanwhile.")
    return RedirectResponse(f"/reviews/{week}#{part}", 303)


def _action(fields: dict[str, str]) -> tuple[str, str, str]:
    text = _text(fields, "text", "Write what is to be done.", LONGEST_TEXT)
    owner = _text(fields, "owner", "Say who does it.")
    due = fields.get("due", "").strip()
    try:
        return text, owner, date.fromisoformat(due).isoformat() if due else ""
    except ValueError:
        raise HTTPException(400, "“Due” is a date such as 2026-12-24, or empty.") from None


def _text(fields: dict[str, str], name: str, problem: str, longest: int = LONGEST_NAME) -> str:
    text = fields.get(name, "").strip()[:longest]
    if not text:
        raise HTTPException(400, problem)
    return text
