"""Alertmanager by its API v2: what fires is said again and again, since it forgets what it does not hear."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

import httpx

from collector.core.channels import ChannelConfig
from collector.work.notify.sending import annotations, labels, moment, post
from schemas.alerting import SECOND_NS, Delivery

# How often it is said again, and how long it is believed: four times that.
AGAIN_S = 60
BELIEVED_NS = 4 * AGAIN_S * SECOND_NS
# The end is said again for so long.
ENDED_AGAIN_S = 300


class Alertmanager:
    """An Alertmanager."""

    def __init__(self, config: ChannelConfig, client: httpx.Client) -> None:
        self._url = config.url.rstrip("/") + "/api/v2/alerts"
        self._client = client

    def send(self, delivery: Delivery, now_ns: int) -> None:
        """Send. Raises NotSent."""
        self.send_all([delivery.body], now_ns)

    def send_all(self, bodies: Iterable[Mapping[str, Any]], now_ns: int) -> None:
        """Say of alerts how they are. Raises NotSent."""
        content = json.dumps([posted(body, now_ns) for body in bodies], separators=(",", ":")).encode()
        post(self._client, self._url, content, {}, now_ns)


def posted(body: Mapping[str, Any], now_ns: int) -> dict[str, Any]:
    """One alert as the API takes it."""
    known = labels(body)
    return {
        "labels": {name: known[name] for name in sorted(known)},
        "annotations": annotations(body),
        "startsAt": moment(body["fired_ns"] or body["started_ns"]),
        "endsAt": moment(body["resolved_ns"] or now_ns + BELIEVED_NS),
        "generatorURL": body["url"],
    }
