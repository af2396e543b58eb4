"""Real receivers: Debian's Alertmanager takes a storm and its end, a receiver of its webhooks takes ours, Apprise sends plain text."""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from collector.core.channels import ALERTMANAGER, APPRISE, ChannelConfig
from collector.core.messages import message
from collector.work.notify.alertmanager import Alertmanager
from collector.work.notify.chat import Chat
from collector.work.notify.sending import NotSent
from collector.work.notify.webhook import payload
from schemas.alerting import DUE, FIRED, RESOLVED, SECOND_NS, SOLVED, Delivery, labels_of
from tests.collector.work.notify.conftest import Receiver
from tests.collector.work.notify.test_outbox import ALERT, RULE
from tests.ports import reserved_ports

# CI sets it, so that nothing is left out there unseen.
REQUIRED_VARIABLE = "REQUIRE_ALERTMANAGER"
CONFIG = """
route: { receiver: hook, group_by: [alertname, server, tool], group_wait: 100ms, group_interval: 1s, repeat_interval: 1h }
receivers: [{ name: hook, webhook_configs: [{ url: "URL/from-alertmanager" }] }]
"""


# It still looks for a module of the standard library that is on its way out.
apprise = pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")


@pytest.fixture
def port() -> Iterator[int]:
    with reserved_ports(1) as [port]:
        yield port


@pytest.fixture
def alertmanager(tmp_path: Path, receiver: Receiver, port: int) -> Iterator[str]:
    """The address of an Alertmanager that tells our receiver; skips where it is not installed."""
    program = shutil.which("prometheus-alertmanager") or shutil.which("alertmanager")
    if program is None:
        reason = "Alertmanager is not installed here (Debian: apt-get install prometheus-alertmanager)"
        (pytest.fail if os.environ.get(REQUIRED_VARIABLE) else pytest.skip)(reason)
    (tmp_path / "config.yml").write_text(CONFIG.replace("URL", receiver.url))
    address = f"127.0.0.1:{port}"
    command = [program, f"--config.file={tmp_path}/config.yml", f"--storage.path={tmp_path}/data", f"--web.listen-address={address}"]
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen([*command, "--cluster.listen-address="], stdout=log, stderr=log)
    try:
        ready = httpx.Client(transport=httpx.HTTPTransport(retries=8), base_url=f"http://{address}")
        with ready:
            assert ready.get("/-/ready", timeout=60).is_success, (tmp_path / "log").read_text()
        yield f"http://{address}"
    finally:
        process.terminate()
        process.wait()


def delivery(alert: Any = ALERT, event: str = FIRED) -> Delivery:
    return Delivery("d1", alert.id, "peer", event, alert.started_ns, DUE, 1, alert.started_ns, message(alert, RULE, event, "http://here"))


@pytest.mark.end_to_end
def test_alertmanager_takes_a_storm_and_its_end_and_tells_it_in_the_shape_that_we_tell(alertmanager: str, receiver: Receiver) -> None:
    now_ns = time.time_ns()
    storm = replace(ALERT, started_ns=now_ns, fired_ns=now_ns)
    with httpx.Client() as client:
        channel = Alertmanager(ChannelConfig("peer", ALERTMANAGER, alertmanager, "", "info"), client)
        channel.send(delivery(storm), now_ns)
        [held] = client.get(f"{alertmanager}/api/v2/alerts").json()
        assert held["labels"] == {"alertname": "retry_storm", "severity": "page", "class": "fleet", "server": "orders", "tool": "get_order"}
        assert held["status"]["state"] in ("active", "unprocessed")
        assert held["generatorURL"] == "http://here/alerts#a1"
        # What is over before it was told is told by nobody.
        assert receiver.arrived.wait(60)
        channel.send(delivery(replace(storm, state=RESOLVED, resolved_ns=now_ns), SOLVED), now_ns + SECOND_NS)
        assert client.get(f"{alertmanager}/api/v2/alerts?active=true").json() == []
    theirs = receiver.bodies[0]
    ours = payload(delivery(storm), "http://here")
    # All that theirs has ours has too, of the same types, and no less in an alert.
    assert set(theirs) <= set(ours)
    assert set(theirs["alerts"][0]) <= set(ours["alerts"][0])
    assert {name: type(value) for name, value in theirs.items()} == {name: type(ours[name]) for name in theirs}
    assert theirs["alerts"][0]["labels"] == ours["alerts"][0]["labels"]


@apprise
def test_apprise_sends_plain_text_with_the_id(receiver: Receiver) -> None:
    hostile = replace(ALERT, labels=labels_of(server="orders", tool="<!channel> [x](https://evil.example)"))
    Chat(ChannelConfig("chat", APPRISE, receiver.url.replace("http://", "json://"), "", "info")).send(delivery(hostile), 0)
    [body] = receiver.bodies
    text = json.dumps(body)
    assert body["title"].startswith("Retry storm: orders / ")
    assert "Delivery d1" in body["message"]
    assert "<!channel>" not in text
    assert "evil.example)" not in text
    assert "https://evil" not in text


@apprise
def test_apprise_that_cannot_deliver_is_tried_again(receiver: Receiver) -> None:
    receiver.answers = [500]
    with pytest.raises(NotSent) as refused:
        Chat(ChannelConfig("chat", APPRISE, receiver.url.replace("http://", "json://"), "", "info")).send(delivery(), 0)
    assert not refused.value.permanent


@apprise
def test_an_address_that_apprise_does_not_know_is_given_up() -> None:
    with pytest.raises(NotSent) as refused:
        Chat(ChannelConfig("chat", APPRISE, "nosuch://x", "", "info")).send(delivery(), 0)
    assert refused.value.permanent
