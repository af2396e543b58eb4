"""Everything else, through an Apprise address: Slack, Teams, mail, ntfy and many more. Text only: nothing in it is a mark."""

from typing import Any

from collector.core.channels import ChannelConfig
from collector.work.notify.sending import NotSent
from schemas.alerting import Delivery

LEVELS = {"page": "failure", "ticket": "warning", "warn": "warning", "info": "info"}


class Chat:
    """Whatever an Apprise address leads to. Sending blocks, so it is done in a thread of its own."""

    def __init__(self, config: ChannelConfig) -> None:
        # Imported here: it loads more than a hundred services.
        import apprise

        self._there: Any = apprise.Apprise()
        self._known = bool(self._there.add(config.url))
        self._text = apprise.NotifyFormat.TEXT

    def send(self, delivery: Delivery, now_ns: int) -> None:
        """Send. Raises NotSent."""
        body = delivery.body
        if not self._known:
            raise NotSent("Apprise does not know such an address", permanent=True)
        lines = [
            body["description"],
            *(f"Example: {one}" for one in body["examples"]),
            f"Alert: {body['url']}",
            f"Runbook: {body['runbook_url']}",
        ]
        level = "success" if body["status"] == "resolved" else LEVELS[body["severity"]]
        text = "\n".join([*lines, f"Delivery {delivery.id}"])
        try:
            arrived = self._there.notify(title=body["title"], body=text, body_format=self._text, notify_type=level)
        except Exception as error:
            # A plugin may raise anything, with the address in its text.
            raise NotSent(f"Apprise failed: {type(error).__name__}") from None
        if not arrived:
            # It does not say why.
            raise NotSent("Apprise could not deliver it")
