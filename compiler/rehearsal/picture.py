"""The loss as a picture: bars of text for a terminal, and an SVG for a browser."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from itertools import pairwise

from compiler.rehearsal.watching import Point

BARS = "▁▂▃▄▅▆▇█"
WIDTH, HEIGHT, MARGIN = 720, 320, 56
_COLOURS = ("#1f6feb", "#d1242f", "#1a7f37", "#8250df", "#bf8700")


def sparkline(values: Sequence[float], width: int = 32) -> str:
    """The values as one line of bars, each the mean of its part of them; "" for none."""
    if not values:
        return ""
    count = min(width, len(values))
    edges = [len(values) * index // count for index in range(count + 1)]
    parts = [values[low:high] for low, high in pairwise(edges)]
    means = [sum(part) / len(part) for part in parts]
    low, high = min(means), max(means)
    span = high - low
    if not span:
        return BARS[0] * count
    return "".join(BARS[round((mean - low) / span * (len(BARS) - 1))] for mean in means)


def svg(points: Sequence[Point], title: str, starts: Sequence[str]) -> str:
    """The losses over the steps, a line for each start of the run; `starts` says what each was."""
    steps = [point.step for point in points] or [0]
    losses = [point.loss for point in points] or [0.0]
    left, right = min(steps), max(*steps, min(steps) + 1)
    low, high = min(losses), max(losses)
    if high <= low:
        high = low + 1.0

    def x(step: float) -> float:
        return MARGIN + (step - left) / (right - left) * (WIDTH - 2 * MARGIN)

    def y(loss: float) -> float:
        return HEIGHT - MARGIN - (loss - low) / (high - low) * (HEIGHT - 2 * MARGIN)

    lines = [
        _tag("rect", width=WIDTH, height=HEIGHT, fill="white"),
        _text(WIDTH / 2, 20, title, font_size=14),
        _text(WIDTH / 2, HEIGHT - 6, "step"),
        _text(14, HEIGHT / 2, "loss", transform=f"rotate(-90 14 {HEIGHT / 2})"),
    ]
    for part in range(5):
        loss = low + (high - low) * part / 4
        step = left + (right - left) * part / 4
        at = round(y(loss), 1)
        lines += [
            _tag("line", x1=MARGIN, x2=WIDTH - MARGIN, y1=at, y2=at, stroke="#d0d7de"),
            _text(MARGIN - 6, at + 4, f"{loss:.3g}", text_anchor="end"),
            _text(round(x(step), 1), HEIGHT - MARGIN + 18, f"{step:.0f}"),
        ]
    for start in sorted({point.start for point in points}):
        colour = _COLOURS[start % len(_COLOURS)]
        own = [point for point in points if point.start == start]
        path = " ".join(f"{x(point.step):.1f},{y(point.loss):.1f}" for point in own)
        lines.append(_tag("polyline", points=path, fill="none", stroke=colour, stroke_width=2))
        if len(own) == 1:
            lines.append(_tag("circle", cx=x(own[0].step), cy=y(own[0].loss), r=3, fill=colour))
        text = starts[start] if start < len(starts) else f"start {start + 1}"
        right_edge = WIDTH - MARGIN
        lines.append(_text(right_edge, 40 + 16 * start, text, text_anchor="end", fill=colour))
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}"'
    return "\n".join([f'{head} font-family="sans-serif" font-size="12">', *lines, "</svg>"]) + "\n"


def _tag(name: str, **attributes: object) -> str:
    return f"<{name}{_attributes(attributes)}/>"


def _text(x: float, y: float, text: str, **attributes: object) -> str:
    attributes = {"x": x, "y": y, "text_anchor": "middle", **attributes}
    return f"<text{_attributes(attributes)}>{escape(text)}</text>"


def _attributes(values: Mapping[str, object]) -> str:
    """Attributes, each with a space before it; `_` in a name stands for `-`."""
    return "".join(
        f' {name.replace("_", "-")}="{escape(str(value))}"' for name, value in values.items()
    )
