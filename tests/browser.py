"""A page in a real browser, where one is installed."""

import shutil
import subprocess

import pytest


def program() -> str | None:
    """The program of a browser; None where there is none."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)


def installed() -> str:
    """The program of a browser; the test is skipped where there is none."""
    found = program()
    if found is None:
        pytest.skip("no browser (chromium, google-chrome) is installed")
    return found


def dom_after(folder, html: str, script: str) -> str:
    """What a page has become once a script has run in it."""
    file = folder / "page.html"
    page = html if "</body>" in html else f"<!DOCTYPE html><html><body>{html}</body></html>"
    file.write_text(page.replace("</body>", f"<script>{script}</script></body>"), encoding="utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", f"--user-data-dir={folder / 'profile'}"]
    command = [installed(), *options, "--virtual-time-budget=10000", "--dump-dom", file.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout
