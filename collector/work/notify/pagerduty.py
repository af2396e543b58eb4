"""PagerDuty by its Events API v2: an incident is triggered and resolved under the fingerprint of the alert."""

import json
from typing import Any

import httpx

from collector.core.channels import ChannelConfig
from collector.work.notify.sending import labels, moment, post
from schemas.alerting import INFO, PAGE, TICKET, WARN, Delivery

SEVERITIES = {PAGE: "critical", TICKET: "error", WARN: "warning", INFO: "info"}
# What the API takes of a summary.
LONGEST_SUMMARY = 1024


class PagerDuty:
    """A service of PagerDuty."""

    def __init__(self, config: ChannelConfig, client: httpx.Client, site: str) -> None:
        self._config = config
        self._client = client
        self._site = site

    def send(self, delivery: Delivery, now_ns: int) -> None:
        """Send. Raises NotSent."""
        content = json.dumps(event(delivery, self._config.secret, self._site), separators=(",", ":")).encode()
        post(self._client, self._config.url, content, {}, now_ns)


def event(delivery: Delivery, routing_key: str, site: str) -> dict[str, Any]:
    """An event of the API."""
    body = delivery.body
    ended = body["status"] == "resolved"
    made: dict[str, Any] = {
        "routing_key": routing_key,
        "event_action": "resolve" if ended else "trigger",
        "dedup_key": body["fingerprint"],
        "payload": {
            "summary": f"{body['title']}. {body['summary']}"[:LONGEST_SUMMARY],
            "source": body["labels"].get("server") or "toolvitals",
            "severity": SEVERITIES[body["severity"]],
            "timestamp": moment(body["fired_ns"] or body["started_ns"]),
            "component": body["labels"].get("tool", ""),
            "group": body["labels"].get("server", ""),
            "class": body["rule"],
            "custom_details": {"description": body["description"], "delivery_id": delivery.id, "labels": labels(body)},
        },
        "client": "toolvitals",
        "client_url": site,
        "links": [{"href": body["url"], "text": "The alert"}, {"href": body["runbook_url"], "text": "What to do"}],
    }
    return made
