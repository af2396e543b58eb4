"""What is shown before the first tool call: how to send spans here, what came instead of one, and a demo to look at."""

from fastapi import Request
from fastapi.responses import Response
from sqlalchemy import Connection

from dashboard import health_queries
from dashboard.forgery import COOKIE, FIELD, form_token
from dashboard.moments import DAY_NS
from dashboard.site import Site, page, zone_of_page

_EVERYWHERE = ("0.0.0.0", "::", "")


def connect_page(request: Request, site: Site, connection: Connection, now_ns: int) -> Response:
    """The page, with addresses that really listen."""
    settings = site.settings
    # Bound to all addresses: the one that the reader's browser reached is as good for an exporter.
    host = settings.host if settings.host not in _EVERYWHERE else (request.url.hostname or "localhost")
    bracketed = f"[{host}]" if ":" in host else host
    token = form_token(request)
    response = page(
        request,
        site,
        "connect.html",
        now_ns=now_ns,
        http_address=f"http://{bracketed}:{settings.otlp_http_port}",
        grpc_address=f"http://{bracketed}:{settings.otlp_grpc_port}",
        token=settings.ingest_token is not None,
        counters=health_queries.counters(connection),
        fresh=health_queries.freshness(connection, now_ns, settings.clock_skew_s),
        emitters=health_queries.emitters(connection, now_ns - 30 * DAY_NS, 20),
        refusals=health_queries.refusals(connection, 20),
        demo=site.demo,
        form_field=FIELD,
        form_token=token,
        **zone_of_page(site, request),
    )
    response.set_cookie(COOKIE, token, httponly=True, samesite="strict", secure=request.url.scheme == "https")
    return response
