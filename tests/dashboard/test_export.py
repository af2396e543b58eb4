"""A call leaves as one record with fixed keys, and no cell of a table is a formula."""

import csv
import io
from types import SimpleNamespace

import pytest

from schemas.export import RECORD_KEYS, call_record, csv_cell
from tests import seeds


def test_a_record_has_exactly_the_promised_keys() -> None:
    row = seeds.call(1, outcome="failure", retryable=0, flags="a b", failed_children='[{"span_id": "ff"}]')
    record = call_record(SimpleNamespace(**row))
    assert tuple(record) == RECORD_KEYS
    assert record["trace_id"] == "0" * 31 + "1"
    assert record["spans"] == ["0" * 15 + "1"]
    assert record["retryable"] is False
    assert record["flags"] == ["a", "b"]
    assert record["failed_children"] == [{"span_id": "ff"}]


def test_a_record_of_a_call_without_flags_has_an_empty_list() -> None:
    record = call_record(SimpleNamespace(**seeds.call(1)))
    assert (record["flags"], record["failed_children"], record["retryable"]) == ([], [], None)


@pytest.mark.parametrize(
    ("value", "cell"),
    [(None, ""), (True, "true"), (False, "false"), (-3, "-3"), (0.5, "0.5"), ("plain", "plain"), ([], "[]"), (["a"], '["a"]'),
     ("=1+1", "'=1+1"), ("+1", "'+1"), ("-1", "'-1"), ("@x", "'@x"), ("\tx", "'\tx"), ("\rx", "'\rx"), ("a=b", "a=b")],
)  # fmt: skip
def test_cells(value: object, cell: str) -> None:
    assert csv_cell(value) == cell
    out = io.StringIO()
    csv.writer(out).writerow([csv_cell(value), "end"])
    assert next(csv.reader(io.StringIO(out.getvalue(), newline=""))) == [cell, "end"]
