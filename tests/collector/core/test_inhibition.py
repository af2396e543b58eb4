"""Alerts that say the same are told once; the others are kept with the reason."""

from collector.core.inhibition import mute
from schemas.alerting import (
    BURN,
    EMPTY_RISE,
    FIRING,
    FLEET,
    HOUR_NS,
    LOOP,
    PAGE,
    PENDING,
    SINGLE,
    STORM,
    TELEMETRY,
    TICKET,
    WARN,
    Alert,
    Matcher,
    Rule,
    Silence,
    labels_of,
)
from tests.tables import sentences

RULES = {kind: Rule(kind, kind, WARN) for kind in (STORM, BURN, LOOP, EMPTY_RISE, TELEMETRY)}


def alert(
    rule: str, tool: str | None = "get", severity: str = WARN, class_: str = "", state: str = FIRING, server: str = "orders"
) -> Alert:
    name = f"{rule} {server} {tool} {class_}"
    return Alert(name, rule, labels_of(server=server, tool=tool), severity, class_, state, 0, 0, 0)


FLEET_STORM = alert(STORM, class_=FLEET)
SINGLE_STORM = alert(STORM, class_=SINGLE, severity=PAGE)
SERVER_STORM = alert(STORM, None, class_=FLEET)


@sentences(
    "alerts, muted",
    {
        "a fleet's storm mutes the burn rate of the tool": ([FLEET_STORM, alert(BURN)], [1]),
        "but not of another": ([FLEET_STORM, alert(BURN, "list")], []),
        "nor of the same tool elsewhere": ([FLEET_STORM, alert(BURN, server="bank")], []),
        "a single session's storm does not": ([SINGLE_STORM, alert(BURN)], []),
        "a pending one does not": ([alert(STORM, class_=FLEET, state=PENDING), alert(BURN)], []),
        "a page mutes a ticket": ([alert(BURN, severity=PAGE), alert(EMPTY_RISE, severity=TICKET)], [1]),
        "a ticket mutes no page": ([alert(EMPTY_RISE, severity=TICKET), alert(STORM, severity=PAGE)], [0]),
        "the loop tells of the storm of its session": ([SINGLE_STORM, alert(LOOP, severity=TICKET)], [0]),
        "what is muted mutes nothing: the loop stays though the storm would be a page": ([alert(LOOP, severity=TICKET), SINGLE_STORM], [1]),
        "a server's storm mutes those of its tools": ([SERVER_STORM, FLEET_STORM, alert(BURN)], [1, 2]),
        "nothing heard mutes all of the server": ([alert(TELEMETRY, None), FLEET_STORM, SERVER_STORM, alert(LOOP, server="bank")], [1, 2]),
        "nothing mutes itself": ([FLEET_STORM], []),
    },
)
def test_what_is_muted(alerts: list[Alert], muted: list[int]) -> None:
    assert [place for place, one in enumerate(mute(alerts, RULES, [], 0)) if one.muted_by] == muted


def silence(from_ns: int = 0, to_ns: int = HOUR_NS, **patterns: str) -> Silence:
    return Silence("s", [Matcher(name, pattern) for name, pattern in patterns.items()], from_ns, to_ns, "kim", "deploy")


@sentences(
    "one, now_ns, muted",
    {
        "all that match": (silence(server="ord*"), 0, True),
        "all matchers must": (silence(server="orders", tool="list"), 0, False),
        "also by rule, severity and class": (silence(rule="storm", severity="warn", **{"class": "fleet"}), 0, True),
        "a label that it has not": (silence(team="x"), 0, False),
        "not before": (silence(from_ns=1), 0, False),
        "not from its end on": (silence(), HOUR_NS, False),
    },
)
def test_silences(one: Silence, now_ns: int, muted: bool) -> None:
    [found] = mute([FLEET_STORM], RULES, [one], now_ns)
    assert found.muted_by == ("silenced by kim: deploy" if muted else "")


def test_what_is_silenced_still_mutes() -> None:
    storm, burn = mute([FLEET_STORM, alert(BURN)], RULES, [silence(rule="storm")], 0)
    assert storm.muted_by.startswith("silenced")
    assert burn.muted_by == "storm: many sessions storm this tool"


def test_a_reason_goes_with_what_gave_it() -> None:
    muted = mute([FLEET_STORM, alert(BURN)], RULES, [], 0)
    [burn] = mute([muted[1]], RULES, [], 0)
    assert burn.muted_by == ""
