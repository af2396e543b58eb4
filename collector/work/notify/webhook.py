"""Webhooks in the shape of Alertmanager's (version 4), signed, with a key by which a receiver knows what it has already."""

import hmac
import json
from hashlib import sha256
from typing import Any

import httpx

from collector.core.channels import ChannelConfig
from collector.work.notify.sending import annotations, labels, moment, post
from schemas.alerting import Delivery

SIGNATURE = "x-toolvitals-signature"
# What Alertmanager says of an alert that is not over.
NO_END = "0001-01-01T00:00:00Z"


class Webhook:
    """A receiver of webhooks."""

    def __init__(self, config: ChannelConfig, client: httpx.Client, site: str) -> None:
        self._config = config
        self._client = client
        self._site = site

    def send(self, delivery: Delivery, now_ns: int) -> None:
        """Send. Raises NotSent."""
        content = json.dumps(payload(delivery, self._site), separators=(",", ":")).encode()
        headers = {"idempotency-key": delivery.id}
        if self._config.secret:
            headers[SIGNATURE] = "sha256=" + hmac.new(self._config.secret.encode(), content, sha256).hexdigest()
        post(self._client, self._config.url, content, headers, now_ns)


def payload(delivery: Delivery, site: str) -> dict[str, Any]:
    """The body of a webhook; `deliveryId` is the same however often it is sent."""
    body = delivery.body
    group = {"alertname": body["rule"], **{name: body["labels"][name] for name in ("server", "tool") if name in body["labels"]}}
    alert = {
        "status": body["status"],
        "labels": labels(body),
        "annotations": annotations(body),
        "startsAt": moment(body["fired_ns"] or body["started_ns"]),
        "endsAt": moment(body["resolved_ns"]) if body["resolved_ns"] else NO_END,
        "generatorURL": body["url"],
        "fingerprint": body["fingerprint"],
    }
    return {
        "version": "4",
        "groupKey": "{}:{" + ", ".join(f"{name}={json.dumps(value)}" for name, value in sorted(group.items())) + "}",
        "truncatedAlerts": 0,
        "status": body["status"],
        "receiver": delivery.channel,
        "groupLabels": group,
        "commonLabels": alert["labels"],
        "commonAnnotations": alert["annotations"],
        "externalURL": site,
        "alerts": [alert],
        "deliveryId": delivery.id,
        "event": delivery.event,
        "examples": list(body["examples"]),
    }
