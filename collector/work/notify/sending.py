"""What all channels share: what a failed sending means, and how an answer of HTTP is read."""

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Protocol

import httpx

from schemas.alerting import SECOND_NS, Delivery

TIMEOUT_S = 10.0
LONGEST_WAIT_S = 3_600.0


class NotSent(Exception):
    """A delivery did not arrive, or is not known to have. Says why, without any secret.

    `permanent`: trying again is no use. `retry_after_s`: how long the receiver wants not to be asked.
    """

    def __init__(self, says: str, *, permanent: bool = False, retry_after_s: float | None = None) -> None:
        super().__init__(says)
        self.permanent = permanent
        self.retry_after_s = retry_after_s


class Sender(Protocol):
    """One channel."""

    def send(self, delivery: Delivery, now_ns: int) -> None:
        """Send. Raises NotSent."""


def post(client: httpx.Client, url: str, content: bytes, headers: Mapping[str, str], now_ns: int) -> None:
    """Post JSON; any 2xx is success. Raises NotSent: 429, 408 and 5xx are tried again, and so is what never got an answer."""
    try:
        answer = client.post(url, content=content, headers={"content-type": "application/json", **headers}, timeout=TIMEOUT_S)
    except httpx.HTTPError as error:
        # Its text may have the address, and with it a token.
        raise NotSent(f"no answer: {type(error).__name__}") from None
    except httpx.InvalidURL:
        raise NotSent("the address is not valid", permanent=True) from None
    if answer.is_success:
        return
    again = answer.status_code in (408, 429) or answer.status_code >= 500
    wait_s = retry_after(answer.headers.get("retry-after"), now_ns) if again else None
    raise NotSent(f"HTTP {answer.status_code}", permanent=not again, retry_after_s=wait_s)


def retry_after(given: str | None, now_ns: int) -> float | None:
    """The seconds that a Retry-After asks for, as a number or as a date; None if it asks for none that can be read."""
    if given is None:
        return None
    if given.strip().isascii() and given.strip().isdigit():
        return min(float(given), LONGEST_WAIT_S)
    try:
        until = parsedate_to_datetime(given)
    except ValueError:
        return None
    until = until if until.tzinfo else until.replace(tzinfo=UTC)
    return min(max(0.0, until.timestamp() - now_ns / SECOND_NS), LONGEST_WAIT_S)


def moment(ns: int) -> str:
    """A time as RFC 3339 has it."""
    return datetime.fromtimestamp(ns / SECOND_NS, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def labels(body: Mapping[str, Any]) -> dict[str, str]:
    """The labels of an alert as Prometheus has them."""
    named = {"alertname": body["rule"], "severity": body["severity"], "class": body["class"], **body["labels"]}
    return {name: "".join(mark for mark in str(value) if mark.isprintable()) for name, value in named.items() if value}


def annotations(body: Mapping[str, Any]) -> dict[str, str]:
    """What is said of an alert."""
    return {"summary": f"{body['title']}. {body['summary']}", "description": body["description"], "runbook_url": body["runbook_url"]}
