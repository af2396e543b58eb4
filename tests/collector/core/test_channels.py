"""Channels are read or refused by the line, and say nothing secret."""

import pytest

from collector.core.channels import ChannelConfig, again_ns, read_channels, redacted
from collector.core.rulebook import RuleError
from schemas.alerting import SECOND_NS
from tests.tables import sentences

ENVIRON = {"KEY": "k3y", "CHAT": "slack://a/b/c", "EMPTY": ""}


@sentences(
    "text, expected",
    {
        "a webhook": (
            '[channels.hook]\nkind = "webhook"\nurl = "https://x.example/?t=1"\nsecret_env = "KEY"\nleast = "page"\n',
            ChannelConfig("hook", "webhook", "https://x.example/?t=1", "k3y", "page"),
        ),
        "PagerDuty, which is where it always is": (
            '[channels.oncall]\nkind = "pagerduty"\nrouting_key_env = "KEY"\n',
            ChannelConfig("oncall", "pagerduty", "https://events.pagerduty.com/v2/enqueue", "k3y", "warn"),
        ),
        "a chat, whose address is a secret": (
            '[channels.chat]\nkind = "apprise"\nurl_env = "CHAT"\n',
            ChannelConfig("chat", "apprise", "slack://a/b/c", "", "warn"),
        ),
    },
)
def test_a_channel(text: str, expected: ChannelConfig) -> None:
    assert read_channels(text, ENVIRON) == (expected,)


@sentences(
    "text, problem",
    {
        "a kind that is none": ('[channels.a]\nkind = "fax"\n', (2, "kind is one of webhook, alertmanager, pagerduty, apprise")),
        "no address": ('[channels.a]\nkind = "webhook"\n', (1, "`url` is missing")),
        "an address that is none": ('[channels.a]\nkind = "webhook"\nurl = "ftp://x"\n', (3, "url begins with")),
        "a variable that is not set": ('[channels.a]\nkind = "webhook"\nurl_env = "NONE"\n', (3, "is not set")),
        "or is empty": ('[channels.a]\nkind = "webhook"\nurl_env = "EMPTY"\n', (3, "is not set")),
        "an option that it has not": ('[channels.a]\nkind = "alertmanager"\nurl = "http://x"\nsecret = "y"\n', (4, "has no `secret`")),
        "a severity that is none": ('[channels.a]\nkind = "alertmanager"\nurl = "http://x"\nleast = "all"\n', (4, "least is one of")),
    },
)
def test_what_is_refused(text: str, problem: tuple[int, str]) -> None:
    with pytest.raises(RuleError) as refused:
        read_channels(text, ENVIRON)
    [(line, says)] = refused.value.problems
    assert line == problem[0]
    assert problem[1] in says


@sentences(
    "url, shown",
    {
        "user, password, path and query go": ("https://me:pw@x.example:8443/t/token?key=1", "https://x.example:8443/…"),
        "of a chat even the host, which may be a token": ("slack://token/a/b", "slack://…"),
        "what cannot be read goes as a whole": ("http://[::1", "…"),
    },
)
def test_addresses_are_shown_without_secrets(url: str, shown: str) -> None:
    assert redacted(url) == shown


@sentences(
    "attempts, retry_after_s, pause_s",
    {
        "first": (1, None, 5),
        "doubling": (4, None, 40),
        "up to ten minutes": (20, None, 600),
        "but as long as asked": (1, 900, 900),
        "and no shorter": (4, 1, 40),
    },
)
def test_pauses(attempts: int, retry_after_s: float | None, pause_s: int) -> None:
    assert again_ns(0, attempts, 0, retry_after_s) == pause_s * SECOND_NS


def test_after_a_day_it_is_no_use() -> None:
    assert again_ns(0, 100, 86_000 * SECOND_NS, None) is None
