"""Query strings become filters and back, or say what is wrong with them."""

from urllib.parse import parse_qsl

import pytest

from dashboard import moments
from dashboard.filters import CALL_NAMES, NONE, PRESETS, ROLLUP_NAMES, FilterError, parse
from dashboard.moments import MINUTE_NS
from tests.seeds import NOW_NS, SECOND_NS


def read(query: str, **options: object):
    return parse(parse_qsl(query, keep_blank_values=True), NOW_NS, **options)


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_ends_with_the_running_minute_and_starts_on_a_whole_one(preset: str) -> None:
    question = read(f"range={preset}")
    assert question.to_ns - MINUTE_NS < NOW_NS <= question.to_ns
    whole = 15 * MINUTE_NS if preset in ("7d", "30d") else MINUTE_NS
    assert question.from_ns <= NOW_NS - PRESETS[preset] < question.from_ns + whole
    assert question.from_ns % whole == 0
    assert question.from_ns % MINUTE_NS == question.to_ns % MINUTE_NS == 0
    assert question.preset == preset


@pytest.mark.parametrize(
    ("query", "seconds_from", "seconds_to"),
    [
        pytest.param("from=-90m", -90 * 60, 0, id="relative times count back from now"),
        pytest.param("from=-2d&to=-1d", -172_800, -86_400, id="both ends can be relative"),
        pytest.param("from=-1h&to=now", -3600, 0, id="now is a time"),
        pytest.param("to=-1h", -7200, -3600, id="an end alone looks at the hour before it"),
        pytest.param("from=2026-11-30T13:03:20Z&to=2026-11-30T14:03:20Z", -3600, 0, id="RFC 3339 in UTC"),
        pytest.param("from=2026-11-30T14:03:20%2B01:00&to=2026-11-30T14:03:20Z", -3600, 0, id="RFC 3339 with an offset"),
        pytest.param("from=2026-11-30T14:03:20+01:00&to=now", -3600, 0, id="a plus sign that nobody encoded"),
        pytest.param("from=2026-11-30T13:03:20&to=now", -3600, 0, id="a time without a zone is UTC"),
        pytest.param("from=-1h&range=7d", -3600, 0, id="times that were written beat a preset"),
        pytest.param("from=&to=&range=1h", -3600, 0, id="empty fields of a form count as absent"),
    ],
)
def test_times_are_understood(query: str, seconds_from: int, seconds_to: int) -> None:
    question = read(query)
    start, end = NOW_NS + seconds_from * SECOND_NS, NOW_NS + seconds_to * SECOND_NS
    assert question.from_ns == start - start % MINUTE_NS
    assert question.to_ns == end + -end % MINUTE_NS


@pytest.mark.parametrize(
    ("query", "says"),
    [
        pytest.param("range=9h", "is no range", id="an unknown preset"),
        pytest.param("from=yesterday", "is no time", id="a word as time"),
        pytest.param("from=2026-13-01T00:00:00Z", "is no time", id="a month that does not exist"),
        pytest.param("from=now&to=-1h", "must lie before", id="an end before the start"),
        pytest.param("from=-500d", "longer than 400 days", id="a range beyond what is kept"),
        pytest.param("from=1900-01-01T00:00:00Z", "outside of the years", id="a time before 1970"),
        pytest.param("to=2262-04-13T00:00:00Z", "outside of the years", id="a time beyond 64 bits"),
        pytest.param("outcome=broken", "is no outcome", id="an outcome that does not exist"),
        pytest.param("category=bad", "is no category", id="a category that does not exist"),
        pytest.param("retryable=maybe", "is no retryable", id="a retryability that does not exist"),
        pytest.param("outcom=failure", "no filter named", id="a misspelt filter"),
        pytest.param("session=s1", "list of calls only", id="a filter that rollups cannot answer"),
        pytest.param("zone=Mars%2FOlympus", "is no time zone", id="a zone that does not exist"),
        pytest.param("zone=..%2F..%2Fetc%2Fpasswd", "is no time zone", id="a path as zone"),
        pytest.param("compare=everything", "is no compare", id="a comparison that there is not"),
        pytest.param("fingerprint=1", "list of calls only", id="a fingerprint where rollups are asked"),
        pytest.param("tool=a&tool=b", "given twice", id="one filter with two values"),
        pytest.param("tool=" + "x" * 3000, "longer than", id="an endless value"),
        pytest.param("tool=a%00b", "NUL", id="a character that no database takes"),
    ],
)
def test_nonsense_is_refused_in_words(query: str, says: str) -> None:
    with pytest.raises(FilterError) as caught:
        read(query)
    assert len(caught.value.problems) == 1
    assert says in caught.value.problems[0]


@pytest.mark.parametrize(
    ("query", "says"),
    [
        pytest.param("fingerprint=xyz", "12 lower-case", id="a fingerprint of other digits"),
        pytest.param("min_duration=fast", "no length of time", id="a word as duration"),
        pytest.param("max_duration=-5s", "no length of time", id="less than no time"),
    ],
)
def test_nonsense_is_refused_on_lists_of_calls_too(query: str, says: str) -> None:
    with pytest.raises(FilterError, match=says):
        read(query, calls=True)


@pytest.mark.parametrize(
    ("text", "ns"), [("500ms", 5 * 10**8), ("1.5m", 90 * 10**9), ("2 s", 2 * 10**9), ("40us", 40_000), ("1h", 3600 * 10**9)]
)
def test_lengths_of_time_are_understood(text: str, ns: int) -> None:
    problems: list[str] = []
    assert moments.length("min_duration", text, problems) == ns
    assert problems == []


@pytest.mark.parametrize(
    ("query", "team", "hours"),
    [
        pytest.param("from=2026-11-30T13:00&to=now", "UTC", 13, id="without a zone it is UTC"),
        pytest.param("from=2026-11-30T13:00&to=now", "Europe/Berlin", 12, id="the team's zone counts"),
        pytest.param("from=2026-11-30T13:00&to=now&zone=UTC", "Europe/Berlin", 13, id="the zone of the address counts more"),
        pytest.param("from=2026-11-30T13:00Z&to=now&zone=Asia/Tokyo", "Europe/Berlin", 13, id="an offset counts most"),
    ],
)
def test_a_time_without_an_offset_is_of_the_zone_that_is_shown(query: str, team: str, hours: int) -> None:
    assert read(query, team_zone=team).from_ns // (60 * MINUTE_NS) % 24 == hours


def test_pinned_times_stay_the_same_tomorrow() -> None:
    question = read("range=6h&server=s&compare=previous&zone=Asia/Tokyo")
    pinned = question.pinned
    later = parse(parse_qsl(pinned.query()), NOW_NS + 86_400 * SECOND_NS)
    assert (later.from_ns, later.to_ns, later.active, later.view) == (question.from_ns, question.to_ns, question.active, question.view)
    assert not pinned.live
    assert question.live


def test_every_fault_is_named_at_once() -> None:
    with pytest.raises(FilterError) as caught:
        read("outcome=x&category=y&from=z")
    assert len(caught.value.problems) == 3


def test_a_list_of_calls_takes_all_filters_and_the_page_its_own_parameters() -> None:
    query = "session=s&flag=f&decided_by=body&error_type=E&trace=" + "0a" * 16 + "&cursor=c"
    question = read(query, calls=True, beside={"cursor"})
    assert question.active == {"session": "s", "flag": "f", "decided_by": "body", "error_type": "E", "trace": "0a" * 16}


def test_a_trace_is_sixteen_bytes_of_hex() -> None:
    with pytest.raises(FilterError, match="32 lower-case"):
        read("trace=xyz", calls=True)


def test_what_a_filter_writes_it_reads_again() -> None:
    query = "range=6h&server=a%2Fb%3F%26&client=%28none%29&tool=%E2%80%AEx&outcome=failure&category=business&retryable=false"
    question = read(query)
    assert question.client == ""
    assert read(question.query()) == question
    pinned = read("from=-3h&to=-1h&emptiness=empty")
    assert read(pinned.query()) == pinned


def test_a_value_that_is_empty_in_the_data_has_a_word_in_the_address() -> None:
    assert read(f"environment={NONE}").environment == ""
    assert read("environment=").environment is None


def test_the_period_before_has_the_same_length_and_touches() -> None:
    question = read("range=6h&server=s")
    before = question.before()
    assert (before.to_ns, before.span_ns, before.server) == (question.from_ns, question.span_ns, "s")


def test_filters_can_be_taken_away() -> None:
    question = read("range=6h&server=s&outcome=failure&flag=x", calls=True)
    assert question.shared.active == {"server": "s"}
    assert question.unfiltered.active == {}
    assert set(ROLLUP_NAMES).isdisjoint(CALL_NAMES)
