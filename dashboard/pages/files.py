"""The files that pages load, with headers that let browsers keep them."""

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import RedirectResponse, Response

from dashboard.site import TheSite

router = APIRouter(include_in_schema=False)

_FOR_EVER = "public, max-age=31536000, immutable"


@router.get("/static/{version}/{name}")
def static_file(request: Request, site: TheSite, version: str, name: str) -> Response:
    """A file of the current version; an older address gets today's file, not to be kept."""
    asset = site.assets.files.get(name)
    if asset is None:
        raise HTTPException(404, "There is no such file.")
    headers = {"cache-control": _FOR_EVER if version == site.assets.version else "no-cache", "vary": "accept-encoding"}
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(asset.gzipped, headers=headers | {"content-encoding": "gzip"}, media_type=asset.media_type)
    return Response(asset.body, headers=headers, media_type=asset.media_type)


@router.get("/favicon.ico")
def favicon(site: TheSite) -> Response:
    """Browsers ask for this path whatever the page says."""
    return RedirectResponse(site.assets.url("favicon.svg"), 308)
