"""Puts the dashboard together: pages, headers that keep a hostile span from running anything, and errors as pages."""

import gc
from collections.abc import Callable, Mapping

from fastapi import FastAPI, HTTPException, Request
from fastapi.responses import Response
from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dashboard.assets import load_assets, style_hashes
from dashboard.filters import FilterError
from dashboard.openapi import describe
from dashboard.pages import (
    alerts,
    by_design,
    call,
    calls,
    chains,
    demo,
    empties,
    files,
    health,
    overview,
    retries,
    reviews,
    styleguide,
    tool,
    tools,
)
from dashboard.site import Demo, Site, as_json, make_templates, page
from schemas.database import newest_schema
from schemas.settings import Settings

SECURITY_HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}


def content_security_policy() -> str:
    """No script and no style sheet but our files, nothing from another host, and nobody may frame us.

    Plotly makes two <style> elements, an empty one that it fills through the CSSOM (which CSP leaves alone) and the sheet of its
    map library: their hashes are allowed, so any other <style> stays forbidden, and style="" too.
    """
    return "; ".join(
        (
            "default-src 'self'",
            "script-src 'self'",
            f"style-src 'self' {' '.join(style_hashes())}",
            "img-src 'self' data:",
            "object-src 'none'",
            "base-uri 'none'",
            "form-action 'self'",
            "frame-ancestors 'none'",
        )
    )


class SecurityHeaders:
    """Middleware: every answer carries `headers`, errors too."""

    def __init__(self, app: ASGIApp, headers: Mapping[str, str]) -> None:
        self.app = app
        self.headers = headers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on and add the headers to the answer."""

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(self.headers)
            await send(message)

        await self.app(scope, receive, with_headers if scope["type"] == "http" else send)


def create_app(engine: Engine, settings: Settings, clock: Callable[[], int], demo_fleet: Demo | None = None) -> FastAPI:
    """The dashboard over an open database. `clock` gives nanoseconds since the epoch. Only reads; never migrates.

    `demo_fleet` can be started from the empty state, where it is given.
    """
    assets = load_assets()
    # The interactive documentation of FastAPI loads scripts from a CDN: off. The description itself stays.
    app = FastAPI(title="toolvitals", docs_url=None, redoc_url=None, openapi_url="/api/v1/openapi.json")
    app.state.site = Site(engine, settings, clock, assets, make_templates(assets), newest_schema(), demo_fleet)
    for part in (overview, alerts, tools, tool, retries, chains, empties, by_design, calls, call, reviews, health, demo, files):
        app.include_router(part.router)
    if settings.styleguide:
        app.include_router(styleguide.router)
    describe(app)
    app.add_exception_handler(FilterError, _bad_question)
    app.add_exception_handler(StarletteHTTPException, _http_error)
    app.add_exception_handler(SQLAlchemyError, _no_database)
    app.add_middleware(GZipMiddleware, minimum_size=1024, compresslevel=5)
    app.add_middleware(SecurityHeaders, headers={**SECURITY_HEADERS, "content-security-policy": content_security_policy()})
    return app


def keep_loaded() -> None:
    """Keep what is loaded by now out of garbage collections: one that looks through all of it takes 70 ms of somebody's page."""
    gc.collect()
    gc.freeze()


def _answer(request: Request, status: int, title: str, problems: list[str]) -> Response:
    if request.url.path.startswith("/api/"):
        return as_json({"error": title, "problems": problems}, status)
    return page(request, request.app.state.site, "error.html", status, title=title, problems=problems)


async def _bad_question(request: Request, error: Exception) -> Response:
    assert isinstance(error, FilterError)
    return _answer(request, 400, "This address asks no valid question", error.problems)


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException | StarletteHTTPException)
    titles = {404: "There is nothing here"}
    return _answer(request, error.status_code, titles.get(error.status_code, "That did not work"), [str(error.detail)])


async def _no_database(request: Request, error: Exception) -> Response:
    hint = "Check that it runs, and that its schema is the newest: /readyz says which it has. “toolvitals up” brings it up to date."
    return _answer(request, 503, "The database does not answer", [f"{type(error).__name__}. {hint}"])
