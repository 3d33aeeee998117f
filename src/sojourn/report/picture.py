"""A figure that a notebook shows by itself, whether or not matplotlib was set up for it."""

from __future__ import annotations

import io
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

SCREEN = 80  # pixels per inch on the page
SHARP = 2  # pixels of the picture for each of them


class Picture(Figure):
    """A matplotlib Figure of nobody's global state: `savefig` and all else as usual, and a notebook shows it as a picture."""

    def __init__(self, *args: Any, **options: Any):
        super().__init__(*args, **options)
        FigureCanvasAgg(self)

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        file = io.BytesIO()
        self.savefig(file, format="png", dpi=SCREEN * SHARP, bbox_inches="tight", pad_inches=0.1)
        data = file.getvalue()
        width, height = (int.from_bytes(data[at : at + 4]) for at in (16, 20))  # where a PNG file says its size
        return data, {"width": width // SHARP, "height": height // SHARP}
