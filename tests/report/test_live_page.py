"""A run watched on its page by a real browser: fed while it goes on, scrubbed, reloaded, ended with its report."""

from __future__ import annotations

import http.client
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

import anabranch as ab
from anabranch.report.page.explore.fabric_shape import carriers
from anabranch.report.page.explore.port_times import UTILIZATION_STEP, times_of
from support.browser import Browser, Page, need_browser, running
from support.command import anabranch
from support.small_scenario import SMALL

INTERVALS_MIN = 5
PATIENCE_S = 120
"""After so long a page that has not come to what it must is taken to be stuck; no machine is that slow."""
SCHEME = """\
import time
from pathlib import Path

import anabranch as ab


class Gated(ab.Scheme):
    '''ECMP that loiters, and waits before its last third until a file is there.'''

    epoch = "500 us"

    def weights(self, group, stats):
        while group.now_ns > 90_000_000 and not Path("go").exists():
            time.sleep(0.01)
        if not Path("go").exists():
            time.sleep(0.01)
        return None
"""
SLOW_QUESTIONS = """(() => {
    const ask = window.fetch;
    window.fetch = async (...question) => {
        window.isSilent = true;
        await new Promise((done) => setTimeout(done, 1500));
        window.isSilent = false;
        return ask(...question);
    };
})()"""
"""Lets the page be silent before each question."""
SCENARIO = SMALL.replace('"10 ms"', '"120 ms"').replace("load = 0.5", "load = 0.9") + '\ninterval = "500 us"\n'
SCENARIO = (
    SCENARIO.replace("hosts_per_leaf = 2", 'hosts_per_leaf = 8\nlink.buffer = "30 KB"')
    + """
[routing]
table = "min-move"

[[change]]
link = "leaf0-spine1"
at = "4 ms"
set = "down"
"""
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with running(need_browser(), tmp_path_factory.mktemp("profile")) as found:
        yield found


@contextmanager
def live(where: Path, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A run of the gated scheme with a live page: its process, and the page's address."""
    (where / "scheme.py").write_text(SCHEME)
    (where / "scenario.toml").write_text(SCENARIO)
    command = [sys.executable, "-m", "anabranch", "run", "scenario.toml", "--live", "-q", "-o"]
    process = subprocess.Popen(
        [*command, "routing.balance=scheme.py:Gated", *arguments], cwd=where, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    try:
        said = process.stderr.readline()
        assert said.startswith("live: http://127.0.0.1:"), said + process.stderr.read()
        yield process, said.split()[1]
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def when(page: Page, expression: str) -> Any:
    """Value of an expression in the page, once it is true."""
    return page.evaluate(f"""new Promise((done, stuck) => {{
        const end = Date.now() + {PATIENCE_S * 1000};
        const look = () => {{
            const found = {expression};
            if (found) done(found);
            else if (Date.now() > end) stuck(new Error({json.dumps(expression)} + ": " + document.body.innerText));
            else setTimeout(look, 20);
        }};
        look();
    }})""")


def text(page: Page, name: str) -> str:
    found: str = page.evaluate(f"document.getElementById({name!r}).textContent")
    return found


def drawn(page: Page) -> list[list[float]]:
    """Times and values of the chart of the chosen link."""
    found: list[list[float]] = page.evaluate(
        "document.getElementById('fabric-over-time').chart.data.map((values) => Array.from(values))"
    )
    return found


def fed(page: Page, intervals: int = INTERVALS_MIN) -> None:
    """Waits until the slider reaches as many intervals."""
    when(page, f"Number(document.getElementById('fabric-time').max) >= {intervals}")


def quiet(page: Page, address: str) -> None:
    """Sees that the page complained of nothing, and asked its own server alone."""
    assert page.complaints == []
    assert {urlsplit(request).netloc for request in page.requests} == {urlsplit(address).netloc}
    assert {urlsplit(request).path for request in page.requests} <= {"/", "/feed.json", "/report.html", "/favicon.ico"}


def test_the_page_is_fed_scrubbed_reloaded_and_ended(browser: Browser, tmp_path: Path) -> None:
    with live(tmp_path) as (process, address):
        page = browser.visit(address)
        fed(page)
        assert text(page, "live-state") == "The run goes on."
        fed(page, page.evaluate("Number(document.getElementById('fabric-time').max)") + 60)
        assert "begun" in text(page, "live-flows-remark")
        newest = page.evaluate("Number(document.getElementById('fabric-time').value)")
        assert newest >= INTERVALS_MIN
        # A link by a click, a time by the slider: the page follows no more, and stays there when more comes.
        page.choose("link", "3")
        page.evaluate("document.getElementById('fabric-time').focus()")
        page.press("ArrowLeft")
        assert page.evaluate("document.getElementById('live-follow').getAttribute('aria-pressed')") == "false"
        at = text(page, "fabric-interval")
        page.click("#live-follow")
        assert text(page, "fabric-interval") != at
        page.click("#fabric-changes button")
        assert text(page, "fabric-interval") == "4 ms to 4.5 ms"
        assert page.evaluate("document.querySelectorAll('#fabric-drawing .change.down').length") > 0
        # Who comes late, or again, has all that was there before; what came bit by bit is what comes at once.
        page.choose("link", "4")
        bit_by_bit = {}
        for measure in ("utilization", "backlog", "drops"):
            page.choose("link-measure", measure)
            bit_by_bit[measure] = [values[:-1] for values in drawn(page)]
        assert any(bit_by_bit["drops"][1])
        browser.reload(page)
        fed(page, len(bit_by_bit["drops"][0]))
        page.choose("link", "4")
        for measure, (starts, values) in bit_by_bit.items():
            page.choose("link-measure", measure)
            assert [part[: len(starts)] for part in drawn(page)] == [starts, values], measure
        page.choose("link-measure", "utilization")
        late = browser.visit(address, width=400, dark=True)
        fed(late)
        assert drawn(late)[0][:INTERVALS_MIN] == drawn(page)[0][:INTERVALS_MIN]
        assert late.evaluate("document.documentElement.scrollWidth") == 400
        page.choose("link", "3")
        page.click("#fabric-changes button")
        (tmp_path / "go").touch()
        # The end: told in words, with the report, although the command is over then.
        when(page, "document.body.dataset.state === 'ended' && !document.getElementById('live-report').hidden")
        when(late, "!document.getElementById('live-report').hidden")
        assert process.wait() == 0
        (folder,) = (tmp_path / "runs").iterdir()
        run = ab.Run(folder)
        finished = int(run.flows["finished"].sum())
        assert text(page, "live-state").startswith("The run has ended at ")
        assert text(page, "live-flows") == f"{finished:,}"
        assert text(page, "live-folder") == f"runs/{folder.name}"
        assert text(page, "fabric-interval") == "4 ms to 4.5 ms"
        times = times_of(run.ports, carriers(run.topology))
        starts, values = drawn(page)
        assert starts == times.starts_ns.tolist()
        assert values == pytest.approx(100 * times.utilization[:, 3], abs=51 * UTILIZATION_STEP)
        page.click("#live-report")
        report = browser.new_tab(f"blob:{address}")
        assert report.evaluate("document.title") == "anabranch: small"
        assert report.evaluate("document.getElementById('distribution').chart.data[0].length") > 0
        assert report.complaints == []
        quiet(page, address)
        quiet(late, address)


def test_a_stopped_run_says_so(browser: Browser, tmp_path: Path) -> None:
    with live(tmp_path) as (process, address):
        page = browser.visit(address)
        fed(page)
        # A page that is between two of its questions when the run stops hears of it too.
        page.evaluate(SLOW_QUESTIONS)
        when(page, "window.isSilent")
        process.send_signal(signal.SIGINT)
        when(page, "document.body.dataset.state === 'stopped'")
        assert text(page, "live-state") == "The run was stopped and has no results: it was stopped at the terminal."
        assert process.wait() == 130
        assert not list((tmp_path / "runs").iterdir())
        quiet(page, address)


def test_a_killed_run_is_missed(browser: Browser, tmp_path: Path) -> None:
    with live(tmp_path) as (process, address):
        page = browser.visit(address)
        fed(page)
        process.kill()
        when(page, "document.title.startsWith('no answer')")
        assert "its terminal says why" in text(page, "live-state")
        assert len(drawn(page)[0]) >= INTERVALS_MIN


def ask(address: str, path: str, method: str = "GET", **headers: str) -> tuple[int, dict[str, str], bytes]:
    """Answer to a request: status, headers, body."""
    connection = http.client.HTTPConnection(urlsplit(address).netloc)
    try:
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()
    finally:
        connection.close()


def test_the_server_answers_this_machine_alone_and_changes_nothing(tmp_path: Path) -> None:
    with live(tmp_path) as (process, address):
        port = urlsplit(address).port
        for host in (f"127.0.0.1:{port}", f"localhost:{port}", "localhost", f"[::1]:{port}"):
            assert ask(address, "/", Host=host)[0] == 200
        # DNS rebinding: another site's name that leads here.
        for host in (
            f"evil.example:{port}",
            "127.0.0.1.evil.example",
            "",
            f"192.0.2.1:{port}",
            "localhost.evil.example",
        ):
            for path in ("/", "/feed.json", "/report.html"):
                assert ask(address, path, Host=host)[0] == 403, host
        for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH", "HEAD"):
            assert ask(address, "/feed.json", method)[0] == 405
        assert ask(address, "/report.html")[0] == ask(address, "/../etc/passwd")[0] == 404
        for query in ("from=x", "from=-1", "from=999999999999", "epoch=%00&version=%FF", "x=" + "a" * 9000):
            status, headers, body = ask(address, f"/feed.json?{query}")
            assert status == 200
            assert json.loads(body)["from"] == 0
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
        # Another address of this machine is not listened on.
        listening = Path(f"/proc/{process.pid}/net/tcp").read_text().splitlines()[1:]
        mine = [line.split()[1] for line in listening if line.split()[3] == "0A" and f":{port:04X}" in line.split()[1]]
        assert mine == [f"0100007F:{port:04X}"]
        (tmp_path / "go").touch()
        assert process.wait() == 0


def test_results_are_the_same_with_and_without(tmp_path: Path) -> None:
    (tmp_path / "go").touch()
    with live(tmp_path, "--runs", "watched") as (process, address):
        ask(address, "/feed.json")
        assert process.wait() == 0
    plain = anabranch(
        "run", "scenario.toml", "-q", "--runs", "plain", "-o", "routing.balance=scheme.py:Gated", cwd=tmp_path
    )
    assert plain.returncode == 0, plain.stderr
    (one,), (other,) = (tmp_path / "watched").iterdir(), (tmp_path / "plain").iterdir()
    assert one.name == other.name
    for table in ("flows", "ports", "queues", "windows", "events"):
        assert (one / f"{table}.parquet").read_bytes() == (other / f"{table}.parquet").read_bytes()


def test_what_cannot_be_shown_is_refused(tmp_path: Path) -> None:
    (tmp_path / "scenario.toml").write_text(SCENARIO)
    done = anabranch("run", "scenario.toml", "--port", "8000", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (
        2,
        "anabranch: error: --port: 8000: there is no live page; give --live too\n",
    )
    with live(tmp_path) as (_, address):
        taken = str(urlsplit(address).port)
        done = anabranch("run", "scenario.toml", "--live", "--port", taken, "--again", cwd=tmp_path)
        assert done.returncode == 2
        assert done.stderr.endswith(f"--port: {taken}: Address already in use; give a free one, or leave it out\n")
        assert list((tmp_path / "runs").iterdir()) == []
