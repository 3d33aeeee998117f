"""A figure as a part of a page: an SVG that takes its ink and paper from the page, so that it turns dark with it."""

from __future__ import annotations

import io
import re
from html import escape
from typing import TYPE_CHECKING

from sojourn.report.look import COLORS, save

if TYPE_CHECKING:
    from sojourn.report.look import Figure

# what is drawn in these colours is drawn in the page's; the learners' own are a little lighter on dark paper
PAGE_COLORS = {"#000000": "--ink", "#444444": "--soft", "#dddddd": "--grid", "#ffffff": "--paper"} | {
    color.lower(): f"--line-{i}" for i, color in enumerate(COLORS)
}


def inline_svg(figure: Figure, name: str, alt: str) -> str:
    """Return the figure as an <svg> element without size, scripts and addresses; `name` is put before its ids.

    A reader without eyes is told `alt`.
    """
    file = io.BytesIO()
    save(figure, file, "svg")
    text = file.getvalue().decode()
    text = text[text.index("<svg") :]
    for useless in (r"<!--.*?-->", r"<metadata>.*?</metadata>", r"<style[^>]*>.*?</style>", r"\sxmlns(:\w+)?=\"[^\"]*\""):
        text = re.sub(useless, "", text, flags=re.S)
    box = re.search(r'viewBox="[^"]*"', text)
    head = f'<svg {box.group() if box else ""} role="img" aria-label="{escape(alt, quote=True)}">'
    text = re.sub(r"<svg[^>]*>", lambda _: head, text, count=1)
    text = text.replace("xlink:href", "href")
    used = set(re.findall(r"(?:url\(|href=\")#([^)\"]+)", text))
    text = re.sub(r' id="([^"]*)"', lambda m: f' id="{name}-{m[1]}"' if m[1] in used else "", text)
    text = re.sub(r"(url\(|href=\")#", rf"\1#{name}-", text)
    return re.sub(r"#[0-9a-f]{6}\b", lambda m: f"var({PAGE_COLORS[m[0]]})" if m[0] in PAGE_COLORS else m[0], text)
