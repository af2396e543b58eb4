"""Calls that are retried, in every way that can be thought of, for properties of what is made of them."""

from itertools import accumulate
from typing import Any

from hypothesis import strategies as st

from tests.spans import request, tool_span

SAID = (
    {},
    {},
    {"errorCategory": "transient"},
    {"errorCategory": "transient"},
    {"errorCategory": "transient", "retry_after_ms": 3_000},
    {"errorCategory": "transient", "isRetryable": False},
    {"errorCategory": "permission"},
    {"errorCategory": "validation"},
    {"error.type": "tool_error"},
    {"error.type": "cancelled"},
)


DECLARED = (*[{}] * 12, {"retry.attempt": 2}, {"retry.attempt": 4})


@st.composite
def attempts(draw: st.DrawFn) -> list[Any]:
    """Calls of one agent: mostly the same tool again and again, soon after the one before; now and then something else, or a long pause."""
    found = []
    at = 0.0
    for number in range(1, draw(st.integers(1, 12)) + 1):
        at += draw(st.sampled_from([0.05, 1.0, 1.0, 2.0, 2.95, 3.0, 60.0, 130.0]))
        said = draw(st.sampled_from(SAID)) | draw(st.sampled_from((*DECLARED, {"retry.of": f"{max(1, number - 2):016x}"})))
        if (session := draw(st.sampled_from(["s", "s", "s", "t", None]))) is not None:
            said = said | {"session.id": session}
        if draw(st.integers(0, 3)):
            said = said | {"gen_ai.tool.call.arguments": {"q": draw(st.sampled_from([1, 1, 1, 2]))}}
        made = tool_span(
            draw(st.sampled_from(["search", "search", "search", "read"])),
            number,
            trace=f"{draw(st.sampled_from([50, 50, number])):032x}",
            parent=draw(st.sampled_from([None, 90])),
            start=at,
            seconds=draw(st.sampled_from([-1.0, 0.0, 0.9, 0.9, 2.0])),
            attributes=said,
        )
        service, environment = draw(st.sampled_from(["docs"] * 8 + ["shop"])), draw(st.sampled_from([""] * 8 + ["prod"]))
        found.append(request(made, service=service, environment=environment))
    return found


@st.composite
def stubborn(draw: st.DrawFn) -> list[Any]:
    """One call again and again, nearly always failing, at times from another environment in the end."""
    outcomes = draw(
        st.lists(st.sampled_from([*[{"errorCategory": "transient"}] * 6, {"errorCategory": "business"}, {}]), min_size=4, max_size=16)
    )
    named = {"session.id": "s", "gen_ai.tool.call.arguments": {"q": 1}}
    many = len(outcomes)
    gaps = draw(st.lists(st.sampled_from([0.95, 1.0, 1.0, 5.0, 40.0]), min_size=many, max_size=many))
    moves_at = draw(st.sampled_from([many, many, many - 1, 1]))
    return [
        request(
            tool_span("search", number, trace=f"{number:032x}", start=at, seconds=0.9, attributes=named | said),
            environment="" if number <= moves_at else "prod",
        )
        for number, (said, at) in enumerate(zip(outcomes, accumulate(gaps), strict=True), 1)
    ]


def story() -> list[Any]:
    """An operation that recovers over two traces, one that is missed, and a polling agent."""
    named = {"session.id": "s", "gen_ai.tool.call.arguments": {"q": 1}}
    failed = named | {"errorCategory": "transient"}
    return [
        *(tool_span("search", number, trace=f"{number:032x}", start=number, attributes=failed) for number in range(1, 6)),
        tool_span("search", 6, trace=f"{6:032x}", start=70, attributes=named),
        tool_span("read", 7, trace=f"{7:032x}", start=0, attributes={"session.id": "s", "errorCategory": "transient"}),
        *(tool_span("list", number, trace=f"{number:032x}", start=200 + number, attributes=named) for number in range(8, 12)),
    ]
