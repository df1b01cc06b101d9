"""A headless Chromium, driven over a pipe by the DevTools protocol: it needs no port and no driver program."""

import base64
import json
import os
import select
import subprocess
import time
from pathlib import Path
from typing import Any

# A guard against a browser that hangs; a busy machine may take long.
TIMEOUT_SECONDS = 300.0
# File descriptors below this may be in use when the child is started.
FIRST_FREE = 10


class BrowserError(Exception):
    """The browser refused or failed a command."""


class Browser:
    """One browser with one page. Keeps the page's requests and errors."""

    def __init__(self, program: str, profile: Path) -> None:
        import fcntl

        commands, self._write = os.pipe()
        self._read, answers = os.pipe()
        commands = fcntl.fcntl(commands, fcntl.F_DUPFD_CLOEXEC, FIRST_FREE)
        answers = fcntl.fcntl(answers, fcntl.F_DUPFD_CLOEXEC, FIRST_FREE)

        def place_pipes() -> None:
            os.dup2(commands, 3)
            os.dup2(answers, 4)

        # Without a sandbox, which needs rights that a container seldom has. The page is this project's.
        options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]
        options += ["--disable-background-networking", "--hide-scrollbars", f"--user-data-dir={profile}"]
        with open(profile / "browser.log", "wb") as log:
            self._process = subprocess.Popen(
                [program, *options, "--remote-debugging-pipe", "about:blank"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                close_fds=False,
                preexec_fn=place_pipes,
            )
        os.close(commands)
        os.close(answers)
        self._buffer = b""
        self._number = 0
        self._events: list[dict[str, Any]] = []
        self._session = ""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ["Page", "Runtime", "Network", "Log"]:
            self.call(f"{domain}.enable")

    def __enter__(self) -> "Browser":
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._write)
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._read)

    def _receive(self, deadline: float) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], max(0.0, deadline - time.monotonic()))
            more = os.read(self._read, 1 << 20) if ready else b""
            if not more:
                raise BrowserError("the browser does not answer" if not ready else "the browser has ended")
            self._buffer += more
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Sends a command and waits for its answer."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        try:
            os.write(self._write, json.dumps(message).encode() + b"\0")
        except BrokenPipeError:
            raise BrowserError("the browser has ended") from None
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while True:
            answer = self._receive(deadline)
            if answer.get("id") != self._number:
                self._events.append(answer)
            elif "error" in answer:
                raise BrowserError(f"{method}: {answer['error']['message']}")
            else:
                return answer["result"]

    def open(self, page: Path, width: int, dark: bool = False, paper: bool = False, scripts: bool = True, unfold: bool = True) -> None:
        """Opens a page on a screen of that width, or as it would be printed; with all of its details, if scripts run."""
        self._events.clear()
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media="print" if paper else "", features=[scheme])
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.call("Page.navigate", url=page.resolve().as_uri())
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while not self._seen("Page.loadEventFired"):
            self._events.append(self._receive(deadline))
        if scripts and unfold:
            self.value("document.querySelectorAll('details').forEach((details) => (details.open = true))")

    def _seen(self, method: str) -> list[dict[str, Any]]:
        return [event["params"] for event in self._events if event.get("method") == method]

    def requests(self) -> list[str]:
        """Requests since the page was opened, the page itself included."""
        return [event["request"]["url"] for event in self._seen("Network.requestWillBeSent")]

    def complaints(self) -> list[str]:
        """Errors of the page since it was opened."""
        entries = [event["entry"]["text"] for event in self._seen("Log.entryAdded")]
        return entries + [event["exceptionDetails"]["text"] for event in self._seen("Runtime.exceptionThrown")]

    def value(self, expression: str) -> Any:
        """The value of an expression in the page."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            details = result["exceptionDetails"]
            raise BrowserError(details.get("exception", {}).get("description", details["text"]))
        return result["result"].get("value")

    def press(self, key: str) -> None:
        """Presses and releases a key of the element that has the focus."""
        code = {"Enter": 13, "ArrowLeft": 37}[key]
        text = {"text": "\r"} if key == "Enter" else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, code=key, windowsVirtualKeyCode=code, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, code=key, windowsVirtualKeyCode=code)

    def drag(self, begin: tuple[float, float], end: tuple[float, float]) -> None:
        """Moves the pressed pointer from one point of the screen to another."""
        for kind, (x, y) in [("mousePressed", begin), ("mouseMoved", end), ("mouseReleased", end)]:
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=1, clickCount=1)

    def source(self) -> str:
        """The page as it is now, as HTML, whether scripts run or not."""
        root = self.call("DOM.getDocument")["root"]["nodeId"]
        return self.call("DOM.getOuterHTML", nodeId=root)["outerHTML"]

    def screenshot(self, file: Path, begin: str = "", end: str = "") -> None:
        """A picture of the whole page, or of the part from one heading up to another."""
        part = {}
        if begin:
            top = "Array.from(document.querySelectorAll('h3')).find(h => h.textContent === %r).getBoundingClientRect().top + scrollY"
            tops = [self.value(top % heading) for heading in (begin, end)]
            part = {"clip": {"x": 0, "y": tops[0] - 8, "width": self.value("innerWidth"), "height": tops[1] - tops[0], "scale": 1}}
        picture = self.call("Page.captureScreenshot", captureBeyondViewport=True, format=file.suffix[1:], **part)
        file.write_bytes(base64.b64decode(picture["data"]))
