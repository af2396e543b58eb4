"""The button of the empty state that starts the demo fleet."""

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import RedirectResponse, Response
from starlette.concurrency import run_in_threadpool

from dashboard.forgery import posted_form
from dashboard.site import TheSite

router = APIRouter(include_in_schema=False)


@router.post("/demo")
async def start_demo(request: Request, site: TheSite) -> Response:
    """Start the fleet, if this dashboard can, and go back to the landing page."""
    await posted_form(request)
    if site.demo is None:
        raise HTTPException(409, "The demo fleet cannot be started from here. In a terminal, “toolvitals demo” runs it.")
    await run_in_threadpool(site.demo.start)
    return RedirectResponse("/", 303)
