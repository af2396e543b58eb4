"""Which alerts are not told, and why: somebody silenced them, or another alert says the same already."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from schemas.alerting import BURN, FIRING, FLEET, LOOP, PAGE, SINGLE, STORM, TELEMETRY, TICKET, Alert, Rule, Silence

Fits = Callable[[str, Alert], bool]


@dataclass(frozen=True, slots=True)
class Inhibition:
    """A firing `source` mutes a `target` of the same labels `equal`; both are asked for by the kind of their rule."""

    why: str
    source: Fits
    target: Fits
    equal: tuple[str, ...]


def _of_tool(alert: Alert) -> bool:
    return alert.label("tool") is not None


# In this order: what one of them mutes mutes nothing by those that follow, so that two never mute each other.
INHIBITIONS = (
    Inhibition(
        "nothing is heard of this server",
        lambda kind, _: kind == TELEMETRY,
        lambda kind, _: kind != TELEMETRY,
        ("server",),
    ),
    Inhibition(
        "the storm is all over this server",
        lambda kind, alert: kind == STORM and not _of_tool(alert),
        lambda kind, alert: kind in (STORM, BURN, LOOP) and _of_tool(alert),
        ("server",),
    ),
    Inhibition(
        "many sessions storm this tool",
        lambda kind, alert: kind == STORM and alert.class_ == FLEET,
        lambda kind, alert: kind in (BURN, LOOP) or (kind == STORM and alert.class_ == SINGLE),
        ("server", "tool"),
    ),
    Inhibition(
        "the loop of a session makes these retries",
        lambda kind, _: kind == LOOP,
        lambda kind, alert: kind == STORM and alert.class_ == SINGLE,
        ("server", "tool"),
    ),
    Inhibition(
        "a page on the same tool",
        lambda _, alert: alert.severity == PAGE,
        lambda _, alert: alert.severity == TICKET,
        ("server", "tool"),
    ),
)


def mute(alerts: Iterable[Alert], rules: Mapping[str, Rule], silences: Sequence[Silence], now_ns: int) -> list[Alert]:
    """The alerts, each with the reason why it is not told ('' if it is). What is silenced still mutes others."""
    given = [alert for alert in alerts if alert.rule in rules]
    reasons: dict[str, str] = {}
    for inhibition in INHIBITIONS:
        sources: dict[tuple[str | None, ...], Alert] = {}
        for alert in given:
            if alert.state == FIRING and alert.id not in reasons and inhibition.source(rules[alert.rule].kind, alert):
                sources.setdefault(_labels(alert, inhibition.equal), alert)
        for alert in given:
            source = sources.get(_labels(alert, inhibition.equal))
            if source is None or source.id == alert.id or alert.id in reasons:
                continue
            if inhibition.target(rules[alert.rule].kind, alert):
                reasons[alert.id] = f"{source.rule}: {inhibition.why}"
    for alert in given:
        silence = next((one for one in silences if one.mutes(alert, now_ns)), None)
        if silence is not None:
            reasons[alert.id] = f"silenced by {silence.created_by}: {silence.reason}"
    # Most stay as they are, and a copy costs more than a look.
    return [alert if alert.muted_by == reasons.get(alert.id, "") else replace(alert, muted_by=reasons.get(alert.id, "")) for alert in given]


def _labels(alert: Alert, names: Iterable[str]) -> tuple[str | None, ...]:
    return tuple(alert.label(name) for name in names)
