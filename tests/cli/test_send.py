"""`toolvitals send` against a receiver on loopback."""

import http.server
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from click.testing import Result

Run = Callable[..., Result]


@dataclass
class Receiver:
    """Takes what is posted; answers with the codes given, then with 200."""

    url: str
    codes: list[int] = field(default_factory=list)
    taken: list[tuple[str, str | None, bytes]] = field(default_factory=list)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            code = state.codes.pop(0) if state.codes else 200
            if code == 200:
                state.taken.append((self.path, self.headers["x-api-key"], body))
            self.send_response(code)
            self.send_header("Content-Length", "0")
            self.send_header("Content-Type", "application/x-protobuf")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        state = Receiver(f"http://127.0.0.1:{server.server_port}")
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield state
        server.shutdown()
        thread.join()


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    found = [tmp_path / f"{number}.pb" for number in range(5)]
    for number, path in enumerate(found):
        path.write_bytes(bytes([number]))
    return found


def test_all_files_are_sent_in_order(run: Run, receiver: Receiver, files: list[Path]) -> None:
    result = run("send", *files, "--endpoint", receiver.url, "--header", "x-api-key=k")
    assert (result.exit_code, result.stdout) == (0, "5 of 5 bodies sent, 0 spans rejected, 0 bodies failed\n")
    assert receiver.taken == [("/v1/traces", "k", bytes([number])) for number in range(5)]


def test_order_follows_from_the_seed_and_each_body_is_sent_twice(run: Run, receiver: Receiver, files: list[Path]) -> None:
    for _ in range(2):
        assert run("send", *files, "--endpoint", receiver.url, "--shuffle", "7", "--twice").exit_code == 0
    order = [body for _, _, body in receiver.taken]
    assert order[:10] == order[10:]
    assert order[:10] != sorted(order[:10])
    assert sorted(order[:10]) == sorted(bytes([number]) for number in range(5) for _ in range(2))


def test_refused_body_makes_the_command_fail(run: Run, receiver: Receiver, files: list[Path]) -> None:
    receiver.codes = [200, 400]
    result = run("send", *files, "--endpoint", receiver.url)
    assert result.exit_code == 1
    assert result.stdout == "4 of 5 bodies sent, 0 spans rejected, 1 bodies failed\n"
    assert "1.pb: HTTP 400" in result.stderr.replace("\n", "")


def test_busy_receiver_is_tried_again(run: Run, receiver: Receiver, files: list[Path]) -> None:
    receiver.codes = [503]
    assert run("send", files[0], "--endpoint", receiver.url).exit_code == 0
    assert len(receiver.taken) == 1


def test_missing_file_is_named(run: Run, tmp_path: Path) -> None:
    result = run("send", tmp_path / "gone.pb")
    assert result.exit_code == 1
    assert "gone.pb" in result.stderr


def test_header_without_a_value_is_explained(run: Run, files: list[Path]) -> None:
    result = run("send", files[0], "--header", "x-api-key")
    assert result.exit_code == 1
    assert "expected name=value" in result.stderr
