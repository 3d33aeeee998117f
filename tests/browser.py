"""Look at a page in a real browser, as on a desk, on a telephone, in the dark and on paper.

    python tests/browser.py report.html pictures/

writes a picture of each, and ends with code 1 if the page can be moved sideways, says something on the console or asks any host for
anything.  It needs chromium (Debian: `apt-get install chromium`) and `pip install playwright`.
"""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync")
WIDTHS = (1280, 390)
SMALLEST = 8.5  # pixels: the least height of a line of text in a chart, on a telephone


@dataclass
class Look:
    """What a page did in one window."""

    name: str
    width: int
    reached: int  # pixels to the right end of the widest thing
    said: list[str]  # on the console
    asked: list[str]  # addresses outside the page
    paper: str  # the background
    charts: list[float]  # width of each chart over that of the page

    @property
    def complaints(self) -> list[str]:
        wide = [f"is {self.reached} pixels wide in a window of {self.width}"] if self.reached > self.width else []
        return [f"{self.name}: {what}" for what in (*wide, *self.said, *(f"asks for {address}" for address in self.asked))]


def look_at(page: Path, pictures: Path | None = None) -> list[Look]:
    """Return what the page does at each width, in the light and in the dark; with `pictures`, keep a picture of each and a PDF."""
    from playwright.sync_api import sync_playwright

    found = []
    with sync_playwright() as playwright, TemporaryDirectory() as profile:
        browser = playwright.chromium.launch_persistent_context  # one profile for each window, so that nothing is shared
        for width in WIDTHS:
            for scheme in ("light", "dark"):
                window = browser(str(Path(profile) / f"{width}{scheme}"), executable_path=PROGRAM, args=list(FLAGS), headless=True,
                                 viewport={"width": width, "height": 900}, color_scheme=scheme)
                found.append(_look(window, page, f"{width}-{scheme}", width, pictures))
                if pictures is not None and (width, scheme) == (WIDTHS[0], "light"):
                    window.pages[-1].pdf(path=str(pictures / "print.pdf"), format="A4")
                window.close()
    return found


def _look(window, page: Path, name: str, width: int, pictures: Path | None) -> Look:
    tab = window.new_page()
    said: list[str] = []
    asked: list[str] = []
    tab.on("console", lambda message: said.append(message.text))
    tab.on("pageerror", lambda error: said.append(str(error)))
    tab.on("request", lambda request: asked.append(request.url))
    tab.goto(page.resolve().as_uri())
    for closed in tab.query_selector_all("details"):
        closed.evaluate("element => element.open = true")
    reached = tab.evaluate(
        "Math.max(document.documentElement.scrollWidth, ...[...document.querySelectorAll('body *')]"
        ".filter(e => !e.closest('svg') || e.tagName == 'svg').map(e => Math.ceil(e.getBoundingClientRect().right)))"
    )
    charts = tab.evaluate(
        "[...document.querySelectorAll('svg')].map(e => e.getBoundingClientRect().width / e.viewBox.baseVal.width)"
    )
    paper = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    outside = [address for address in asked if not address.startswith(("data:", page.resolve().as_uri()))]
    if pictures is not None:
        tab.screenshot(path=str(pictures / f"{name}.png"), full_page=True)
    return Look(name, width, reached, said, outside, paper, charts)


if __name__ == "__main__":
    folder = Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    complaints = [line for look in look_at(Path(sys.argv[1]), folder) for line in look.complaints]
    print("\n".join(complaints) or f"nothing to complain about; pictures in {folder}")
    sys.exit(bool(complaints))
