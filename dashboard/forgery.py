"""Keeps other sites from posting in a reader's name: a token in the form that only our own pages know, and where the request came from."""

import hmac
import secrets
from collections.abc import Mapping
from urllib.parse import parse_qs, urlsplit

from fastapi import HTTPException, Request

COOKIE = "toolvitals_form"
FIELD = "form_token"
# A form of ours is a few hundred bytes.
LONGEST_BODY = 64 * 1024


def form_token(request: Request) -> str:
    """The token for the forms of a page: the one that the browser has already, so that several open pages all work, or a new one."""
    known = request.cookies.get(COOKIE, "")
    return (
        known if len(known) == 43 and known.replace("-", "").replace("_", "").isalnum() and known.isascii() else secrets.token_urlsafe(32)
    )


def foreign(headers: Mapping[str, str]) -> bool:
    """Whether a request says that another site made it."""
    if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return True
    origin = headers.get("origin")
    return origin is not None and urlsplit(origin).netloc != headers.get("host")


async def posted_form(request: Request) -> dict[str, str]:
    """The fields of a form that one of our own pages posted. Raises HTTPException 403 for any other, 413 for a long one."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > LONGEST_BODY:
            raise HTTPException(413, "This form is longer than any of ours.")
    fields = {name: values[-1] for name, values in parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True).items()}
    token = request.cookies.get(COOKIE, "")
    if foreign(request.headers) or not token or not hmac.compare_digest(token.encode(), fields.pop(FIELD, "").encode()):
        raise HTTPException(403, "This form was not sent by a page of this dashboard. Reload the page and try again.")
    return fields
