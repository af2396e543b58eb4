"""Where alerts are told, as the file of rules says; and when to try again what did not arrive."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from collector.core.rulebook import RuleError, line_of
from schemas.alerting import SECOND_NS, SEVERITIES, WARN

WEBHOOK, ALERTMANAGER, PAGERDUTY, APPRISE = "webhook", "alertmanager", "pagerduty", "apprise"
CHANNEL_KINDS = (WEBHOOK, ALERTMANAGER, PAGERDUTY, APPRISE)
PAGERDUTY_URL = "https://events.pagerduty.com/v2/enqueue"
# What a channel of each kind must say, and what it may say beside; each also as NAME_env, the variable that has it.
NEEDED = {WEBHOOK: ("url",), ALERTMANAGER: ("url",), PAGERDUTY: ("routing_key",), APPRISE: ("url",)}
ALLOWED = {WEBHOOK: ("secret",), ALERTMANAGER: (), PAGERDUTY: ("url",), APPRISE: ()}

# The first pause, which doubles, the longest, and when it is no use any longer.
FIRST_S, LONGEST_S, GIVEN_UP_S = 5, 600, 86_400
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")


@dataclass(frozen=True, slots=True)
class ChannelConfig:
    """One channel. `least` is the least severity that it wants; `secret` signs webhooks, or is PagerDuty's routing key."""

    name: str
    kind: str
    url: str
    secret: str
    least: str

    @property
    def target(self) -> str:
        """Where it leads, without anything that is secret."""
        return redacted(self.url)


def redacted(url: str) -> str:
    """An address without user, password, path and query: many of them are tokens."""
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
        host = parts.hostname or ""
    except ValueError:
        return "…"
    # An Apprise address may have a token where others have the host.
    return f"{parts.scheme}://{host}{port}/…" if parts.scheme in ("http", "https") else f"{parts.scheme}://…"


def read_channels(text: str, environ: Mapping[str, str]) -> tuple[ChannelConfig, ...]:
    """The channels of a file of rules. Raises RuleError with everything that is wrong, without any secret."""
    lines, problems, found = text.splitlines(), [], []
    for name, given in tomllib.loads(text).get("channels", {}).items():

        def wrong(key: str, says: str, name: str = name) -> None:
            problems.append((line_of(lines, f"channels.{name}", key), f"channel {name}: {says}"))

        if not isinstance(given, dict) or not _NAME.fullmatch(name):
            wrong("", "write [channels.NAME], NAME of letters, digits, - and _")
            continue
        kind = given.get("kind")
        if kind not in CHANNEL_KINDS:
            wrong("kind", f"kind is one of {', '.join(CHANNEL_KINDS)}")
            continue
        known = (*NEEDED[kind], *ALLOWED[kind])
        for key in sorted(set(given) - {"kind", "least", *known, *(f"{one}_env" for one in known)}):
            wrong(key, f"a channel of kind {kind} has no `{key}`")
        values = {key: _value(given, key, environ, wrong) for key in known}
        for key in NEEDED[kind]:
            if not values[key] and f"{key}_env" not in given:
                wrong(key, f"`{key}` is missing (or `{key}_env`, the variable that has it)")
        url = values.get("url") or (PAGERDUTY_URL if kind == PAGERDUTY else "")
        if url and kind != APPRISE and not re.match(r"https?://[^/]", url):
            wrong("url", "url begins with https:// or http://")
        least = given.get("least", WARN)
        if least not in SEVERITIES:
            wrong("least", f"least is one of {', '.join(SEVERITIES)}")
        found.append(ChannelConfig(name, kind, url, values.get("secret") or values.get("routing_key") or "", str(least)))
    if problems:
        raise RuleError(sorted(problems))
    return tuple(found)


def _value(given: Mapping[str, Any], key: str, environ: Mapping[str, str], wrong: Any) -> str:
    variable = given.get(f"{key}_env")
    if variable is not None:
        if not isinstance(variable, str) or not environ.get(variable):
            wrong(f"{key}_env", f"the variable that {key}_env names is not set")
            return ""
        return environ[variable]
    value = given.get(key, "")
    if not isinstance(value, str):
        wrong(key, f"{key} is a text")
        return ""
    return value


def again_ns(created_ns: int, attempts: int, now_ns: int, retry_after_s: float | None) -> int | None:
    """When to try again after so many attempts, no sooner than the receiver asked for; None: never."""
    pause_s = max(min(FIRST_S * 2 ** min(attempts - 1, 20), LONGEST_S), retry_after_s or 0)
    again = now_ns + round(pause_s * SECOND_NS)
    return None if again - created_ns > GIVEN_UP_S * SECOND_NS else again
