"""How long the page that explores a kernel takes in Chromium without a window: to open, and to answer a click.

Times are those of the page's own clock (`performance.now()`), which begins with the navigation to its file: as a whole process of a browser
has begun before, each page runs in a new process of it, without anything kept of pages before.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import polyml
from polyml import kernels
from tests.browser import program
from tests.explorer.browser import Browser, Page, browser

EMPTY = "first frame of a page of one word"
USABLE, FIRST_FRAME, WHOLE = (
    "usable",
    "first frame",
    "frame with all panes",
)  # usable: without code and steps, which the first frame does not wait for
MARKS, STEP = "click on a statement: frame", "click on a step: frame"
_WATCH = """(() => {
  window.seen = {};
  window.framed = (name) => requestAnimationFrame(() => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => { window.seen[name] = performance.now(); };
    channel.port2.postMessage(0);
  });
  const mark = performance.mark.bind(performance);
  performance.mark = (name) => { mark(name); if (name === "usable") window.framed("frame"); };
  window.addEventListener("click", (event) => { window.seen.click = event.timeStamp; window.framed("answer"); }, true);
  const ready = new MutationObserver(() => { if (document.documentElement.dataset.ready === "yes") window.framed("whole"); });
  const begun = new MutationObserver(() => {
    if (!document.documentElement) return;
    begun.disconnect();
    ready.observe(document.documentElement, {attributes: true, attributeFilter: ["data-ready"]});
  });
  begun.observe(document, {childList: true});
})()"""
_WORD = '<!doctype html><title>empty</title><p>word<script>performance.mark("usable"); document.documentElement.dataset.ready = "yes"</script>'


@dataclass(frozen=True)
class PageTimes:
    """Milliseconds of a kernel's page by what they were taken for, each as often as it was opened."""

    kernel: str
    times_ms: dict[str, list[float]]


def page_times(names: Sequence[str], repeat: int) -> list[PageTimes]:
    """Returns the times of pages of kernels of PolyBench; none where no browser is installed."""
    if program() is None:
        print("no browser (chromium, google-chrome) is installed: pages are not measured", file=sys.stderr)
        return []
    with tempfile.TemporaryDirectory() as folder, browser(Path(folder) / "profile") as found:
        word = Path(folder) / "word.html"
        word.write_text(_WORD)
        return [_times(found, name, Path(folder) / f"{name}.html", word, repeat) for name in names]


def _times(found: Browser, name: str, file: Path, word: Path, repeat: int) -> PageTimes:
    """Returns the times of one page, which is made before."""
    benchmark = kernels.load(name)
    given = benchmark.inputs(benchmark.sizes["MINI"], np.random.default_rng(0), benchmark.dtype).values()
    made = polyml.kernel(benchmark.kernel.py_func, cache=False).explore(*given)
    made.save(file)
    times: dict[str, list[float]] = {what: [] for what in (EMPTY, USABLE, FIRST_FRAME, WHOLE, MARKS, STEP)}
    for _ in range(repeat):
        empty = _opened(found, word)
        times[EMPTY].append(empty.run("window.seen.frame"))
        empty.close()
        shown = _opened(found, file)
        usable, frame, whole = shown.run(
            "[performance.getEntriesByName('usable')[0].startTime, window.seen.frame, window.seen.whole]"
        )
        times[USABLE].append(usable)
        times[FIRST_FRAME].append(frame)
        times[WHOLE].append(whole)
        shown.run("window.explorer.later.then(() => true)")
        times[MARKS].append(_answer(shown, '#loops [data-pick="s:S1"]', "document.querySelectorAll('.marked').length > 6"))
        times[STEP].append(
            _answer(shown, '#steps [data-step^="tile"].legal', "document.querySelectorAll('path.outline').length > 0")
        )
        shown.close()
    return PageTimes(name, times)


def _opened(found: Browser, file: Path) -> Page:
    """Returns a new page once all of it is drawn."""
    shown = found.page()
    shown.ask("Page.enable")
    shown.ask("Page.addScriptToEvaluateOnNewDocument", source=_WATCH)
    shown.open(file.as_uri())
    shown.until("window.seen.whole > 0")
    return shown


def _answer(shown: Page, selector: str, condition: str) -> float:
    """Returns the milliseconds from a click with the mouse to the end of the frame that shows its answer. condition: of what has to be shown by then."""
    shown.run("window.seen.answer = 0")
    shown.click(selector)
    shown.until("window.seen.answer > 0")
    if not shown.run(condition):
        raise AssertionError(f"a click on {selector} is not answered in the frame behind it")
    return shown.run("window.seen.answer - window.seen.click")
