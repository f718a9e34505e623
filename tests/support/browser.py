"""Headless Chromium, driven over its debugging pipe: pages are opened from files, and looked at as a reader would."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from support.needs import brings
from support.waiting import wait

PROGRAM = "chromium"
OPTIONS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--no-default-browser-check",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)
ATTEMPTS = ("http:", "https:", "ws:", "wss:", "ftp:")


class Page:
    """One tab: what it logs, and what it asks the network for."""

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser, self.session = browser, session
        self.complaints: list[str] = []
        """Errors and warnings of the console, exceptions, and violations of the page's policy."""
        self.requests: list[str] = []
        """Addresses that it asked for, the page's own left out."""

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Answer to a command of the DevTools protocol."""
        return self._browser.call(method, self.session, **parameters)

    def evaluate(self, expression: str) -> Any:
        """Value of an expression in the page; of its promise, if it is one."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise AssertionError(answer["exceptionDetails"]["exception"].get("description", expression))
        return answer["result"].get("value")

    def click(self, selector: str) -> None:
        """Presses and releases the mouse in the middle of an element, which must be visible there."""
        x, y = self.evaluate(f"""(() => {{
            const found = document.querySelector({json.dumps(selector)});
            found.scrollIntoView({{ block: "center" }});
            const box = found.getBoundingClientRect();
            return [box.x + box.width / 2, box.y + box.height / 2];
        }})()""")
        self.mouse("mousePressed", x, y)
        self.mouse("mouseReleased", x, y)

    def mouse(self, kind: str, x: float, y: float) -> None:
        """Moves or presses the mouse at a position of the window."""
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def press(self, key: str) -> None:
        """Presses and releases a key: `ArrowRight`, `Enter`."""
        text = {"text": "\r"} if key == "Enter" else {"text": " "} if key == " " else {}
        codes = {"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Enter": 13, " ": 32, "Tab": 9}
        code = {"windowsVirtualKeyCode": codes[key]} if key in codes else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, code=key, **text, **code)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, code=key, **code)

    def choose(self, name: str, value: str) -> None:
        """Takes an option of a chooser, by its value, as a reader's choice reports it."""
        done = self.evaluate(f"""(() => {{
            const select = document.querySelector(`select[name="{name}"]`);
            select.value = {json.dumps(value)};
            select.dispatchEvent(new Event("change", {{ bubbles: true }}));
            return select.value;
        }})()""")
        assert done == value, f"{name} has no option {value}"

    def resize(self, width: int, height: int, dark: bool = False) -> None:
        """Sets the window's size in pixels, and the system's theme."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500
        )
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", features=features)

    def picture(self, path: Path) -> None:
        """Writes the whole page as PNG."""
        answer = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(answer["data"]))

    def note(self, event: dict[str, Any]) -> None:
        """Records an event of this tab."""
        method, said = event["method"], event["params"]
        if method == "Network.requestWillBeSent" and not said["request"]["url"].startswith(("file:", "data:")):
            self.requests.append(said["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(said["exceptionDetails"]["exception"].get("description", "exception"))
        elif method == "Runtime.consoleAPICalled" and said["type"] in ("error", "warning", "assert"):
            self.complaints.append(str([one.get("value") for one in said["args"]]))
        elif method == "Log.entryAdded" and said["entry"]["level"] in ("error", "warning"):
            self.complaints.append(said["entry"]["text"])


class Browser:
    """A running browser."""

    def __init__(self, process: subprocess.Popen[bytes], write: int, read: int) -> None:
        self._process, self._write, self._read = process, write, read
        self._number = 0
        self._rest = b""
        self._pages: dict[str, Page] = {}
        self._loaded: set[str] = set()

    def open(self, path: Path, scripts: bool = True, width: int = 1400, height: int = 1000, dark: bool = False) -> Page:
        """Opens a file in a tab of its own, and waits until it is loaded."""
        return self.visit(path.resolve().as_uri(), scripts, width, height, dark)

    def visit(
        self, address: str, scripts: bool = True, width: int = 1400, height: int = 1000, dark: bool = False
    ) -> Page:
        """Opens an address in a tab of its own, and waits until it is loaded."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        page = self._attached(target)
        page.resize(width, height, dark)
        page.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        self._load(page, "Page.navigate", url=address)
        return page

    def reload(self, page: Page) -> None:
        """Loads a tab's page again, and waits until it is loaded."""
        self._load(page, "Page.reload")

    def _load(self, page: Page, method: str, **parameters: Any) -> None:
        self._loaded.discard(page.session)
        page.call(method, **parameters)
        while page.session not in self._loaded:
            self._note(self._receive())

    def new_tab(self, prefix: str) -> Page:
        """Tab that a page opens by itself, whose address begins with `prefix`, once it is loaded."""
        # Kept as they were seen: asked again, the browser may not know the tab by this address.
        opened: list[str] = []

        def is_open() -> bool:
            targets = self.call("Target.getTargets")["targetInfos"]
            opened.extend(one["targetId"] for one in targets if one["url"].startswith(prefix) and not one["attached"])
            return bool(opened)

        def loaded() -> bool:
            is_there = f"location.href.startsWith({json.dumps(prefix)})"
            return bool(page.evaluate(f"document.readyState === 'complete' && {is_there}"))

        wait(is_open, lambda: f"no tab opened at {prefix}")
        page = self._attached(opened[0])
        wait(loaded, lambda: f"{prefix} is not loaded")
        return page

    def _attached(self, target: str) -> Page:
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = self._pages[session] = Page(self, session)
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.call(f"{domain}.enable")
        return page

    def call(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        """Sends a command and waits for its answer; events that come before it are recorded."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self._number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                result: dict[str, Any] = answer["result"]
                return result
            self._note(answer)

    def _note(self, event: dict[str, Any]) -> None:
        session = event.get("sessionId", "")
        if event.get("method") == "Page.loadEventFired":
            self._loaded.add(session)
        if session in self._pages and "method" in event:
            self._pages[session].note(event)

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            part = os.read(self._read, 1 << 20)
            assert part, f"{PROGRAM} ended with status {self._process.wait()}"
            self._rest += part
        message, _, self._rest = self._rest.partition(b"\0")
        found: dict[str, Any] = json.loads(message)
        return found


@brings("browser")
def need_browser() -> str:
    """Path of Chromium; skips the test where it is missing, or cannot run from a package that confines it."""
    program = shutil.which(PROGRAM)
    if program is None:
        pytest.skip(f"{PROGRAM} is missing: apt install chromium (Debian)")
    # Ubuntu's package is a snap, which sees neither the folders of tests nor the pipe's ends.
    if "snap" in Path(program).resolve().parts or b"snap run" in Path(program).read_bytes()[:4096]:
        pytest.skip(f"{program} is a snap, which cannot open the files of tests")
    return program


@contextmanager
def running(program: str, profile: Path) -> Iterator[Browser]:
    """Runs a browser with a profile of its own in the folder `profile`, without network."""
    to_read, to_write = os.pipe()
    from_read, from_write = os.pipe()
    command = [program, *OPTIONS, f"--user-data-dir={profile}", "--proxy-server=127.0.0.1:9", "about:blank"]
    # The pipe's ends are descriptors 3 and 4, by the protocol.
    ends = f'exec 3<&{to_read} 4>&{from_write}; exec "$@"'
    process = subprocess.Popen(
        ["bash", "-c", ends, "bash", *command],
        pass_fds=(to_read, from_write),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "HOME": str(profile), "XDG_CONFIG_HOME": str(profile), "XDG_CACHE_HOME": str(profile)},
    )
    os.close(to_read)
    os.close(from_write)
    browser = Browser(process, to_write, from_read)
    try:
        yield browser
        browser.call("Browser.close")
    finally:
        os.close(to_write)
        os.close(from_read)
        process.kill()
        process.wait()
