"""OTLP bodies are recognised in whatever kind of file they were kept."""

import base64
import json
from pathlib import Path

import pytest

from cli.bodies import JSON, PROTOBUF, Unreadable, read_bodies

REQUEST = b'{"resourceSpans": []}'


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.pb", b"{", [("traces", PROTOBUF, b"{")]),
        ("a.binpb", b"\n{abc", [("traces", PROTOBUF, b"\n{abc")]),
        ("a", b"\n{abc", [("traces", PROTOBUF, b"\n{abc")]),
        ("a", REQUEST, [("traces", JSON, REQUEST)]),
        ("a.json", b'{\n "resource_metrics": []}', [("metrics", JSON, b'{\n "resource_metrics": []}')]),
        ("a.jsonl", REQUEST + b"\n\n" + REQUEST, [("traces", JSON, REQUEST)] * 2),
        ("a.jsonl", b'{"set": "x"}\n{"body": "AQI="}', [("traces", PROTOBUF, b"\x01\x02")]),
        (
            "a.jsonl",
            json.dumps({"signal": "logs", "content_type": JSON, "body": base64.b64encode(b"{}").decode()}).encode(),
            [("logs", JSON, b"{}")],
        ),
    ],
    ids=["pb", "binpb", "no suffix", "sniffed JSON", "JSON", "lines", "capture", "capture of logs"],
)
def test_file_is_read(tmp_path: Path, name: str, content: bytes, expected: list[tuple[str, str, bytes]]) -> None:
    (tmp_path / name).write_bytes(content)
    assert [(body.signal, body.content_type, body.content) for body in read_bodies(tmp_path / name)] == expected


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"nonsense", ":1: neither"),
        (b'{"set": 1}\n{"set": 2}', ":2: a JSON object that holds neither"),
        (b'{"body": "!"}', ":1: body is not base64"),
        (b'{"body": 7}', ":1: body is not base64"),
    ],
)
def test_unreadable_file_says_where(tmp_path: Path, content: bytes, said: str) -> None:
    file = tmp_path / "a.jsonl"
    file.write_bytes(content)
    with pytest.raises(Unreadable, match=said):
        read_bodies(file)
