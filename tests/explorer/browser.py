"""A Chromium without a window that tests drive: pages are opened, clicked and dragged on as by a reader, through DevTools' pipe.

It has no other dependence than the browser: commands are JSON texts that end with a zero byte, on two pipes.
"""

import fcntl
import json
import os
import select
import subprocess
import sys
import time
from contextlib import contextmanager

from tests.browser import installed

_OPTIONS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--remote-debugging-pipe", "--force-device-scale-factor=1",
)  # fmt: skip
_EXEC = "import os, sys; os.dup2(int(sys.argv[1]), 3); os.dup2(int(sys.argv[2]), 4); os.execvp(sys.argv[3], sys.argv[3:])"
_SECONDS = 30  # that an answer may take


class Failed(AssertionError):
    """A script in the page has failed, or the browser does not answer."""


class Page:
    """A page in the browser."""

    def __init__(self, browser, target, session):
        self._browser, self._target, self._session = browser, target, session

    def ask(self, method, **params):
        return self._browser.ask(method, self._session, **params)

    def run(self, script):
        """The value of a JavaScript expression, once its promise is kept."""
        found = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in found:
            raise Failed(found["exceptionDetails"].get("exception", {}).get("description", str(found)))
        return found["result"].get("value")

    def until(self, script):
        """Waits until a JavaScript expression is true."""
        end = time.monotonic() + _SECONDS
        while not self.run(script):
            if time.monotonic() > end:
                raise Failed(f"{script} does not become true")
            time.sleep(0.02)

    def open(self, address):
        self.ask("Page.enable")
        self.ask("Page.navigate", url=address)
        self.until('document.documentElement?.dataset.ready === "yes"')

    def close(self):
        self._browser.ask("Target.closeTarget", targetId=self._target)

    def place(self, selector, number=0):
        """The middle of an element, in view, in pixels."""
        found = self.run(
            f"(() => {{ const e = document.querySelectorAll({json.dumps(selector)})[{number}]; if (!e) return null;"
            "e.scrollIntoView({block: 'center', inline: 'center'}); const r = e.getBoundingClientRect();"
            "return [r.left + r.width / 2, r.top + r.height / 2]; })()"
        )
        if found is None:
            raise Failed(f"there is no {selector}")
        return found

    def mouse(self, kind, x, y):
        self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=int(kind != "mouseReleased"), clickCount=1)

    def click(self, selector, number=0):
        x, y = self.place(selector, number)
        self.mouse("mousePressed", x, y)
        self.mouse("mouseReleased", x, y)

    def drag(self, selector, by=None, onto=None, number=0):
        """Drags an element by some pixels, or onto the middle of another element that is in view."""
        x, y = self.place(selector, number)
        if onto is None:
            end = x + by[0], y + by[1]
        else:
            box = f"(() => {{ const r = document.querySelector({json.dumps(onto)}).getBoundingClientRect(); return [r.left + r.width / 2, r.top + r.height / 2]; }})()"
            end = self.run(box)
        self.mouse("mousePressed", x, y)
        for step in range(1, 6):
            self.mouse("mouseMoved", x + (end[0] - x) * step / 5, y + (end[1] - y) * step / 5)
        self.mouse("mouseReleased", *end)

    def key(self, name, modifiers=0):
        for kind in ("keyDown", "keyUp"):
            self.ask("Input.dispatchKeyEvent", type=kind, key=name, code=name, modifiers=modifiers)

    def texts(self, selector):
        return self.run(f"[...document.querySelectorAll({json.dumps(selector)})].map((e) => e.textContent)")

    def text(self, selector):
        return self.run(f"document.querySelector({json.dumps(selector)}).textContent")

    def picture(self):
        """The PNG of what the window shows, in base 64."""
        return self.ask("Page.captureScreenshot")["data"]


class Browser:
    """A running browser."""

    def __init__(self, process, to, back):
        self._process, self._to, self._back, self._number, self._rest = process, to, back, 0, b""

    def ask(self, method, session=None, **params):
        self._number += 1
        message = {"id": self._number, "method": method, "params": params, **({"sessionId": session} if session else {})}
        os.write(self._to, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + _SECONDS
        while True:
            head, zero, rest = self._rest.partition(b"\0")
            if zero:
                self._rest, answer = rest, json.loads(head)
                if answer.get("id") == self._number:
                    if "error" in answer:
                        raise Failed(f"{method}: {answer['error']}")
                    return answer["result"]
                continue
            if not select.select([self._back], [], [], max(end - time.monotonic(), 0))[0]:
                raise Failed(f"the browser does not answer {method}")
            found = os.read(self._back, 1 << 20)
            if not found:
                raise Failed(f"the browser has ended: {self._process.poll()}")
            self._rest += found

    def page(self, width=1400, height=1000, dark=False):
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, target, session)
        page.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        page.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        return page


def _pipe():
    """The two ends of a pipe, neither of which is 3 or 4, as which the browser knows its own ends."""
    ends = os.pipe()
    found = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends]
    for end in ends:
        os.close(end)
    return found


@contextmanager
def browser(folder):
    """A browser with its profile in a folder; the test is skipped where none is installed."""
    program = installed()
    (from_us, to_browser), (from_browser, to_us) = _pipe(), _pipe()
    command = [program, *_OPTIONS, f"--user-data-dir={folder}", "about:blank"]
    process = subprocess.Popen(
        [sys.executable, "-c", _EXEC, str(from_us), str(to_us), *command],
        pass_fds=(from_us, to_us), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    os.close(from_us)
    os.close(to_us)
    try:
        yield Browser(process, to_browser, from_browser)
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
        os.close(to_browser)
        os.close(from_browser)
