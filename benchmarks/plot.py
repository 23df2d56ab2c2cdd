"""A plot as SVG text: panels side by side, both axes logarithmic."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

WIDTH, HEIGHT, MARGIN = 320, 240, 48


@dataclass(frozen=True)
class Panel:
    """Measured points, in ascending order; the axes reach from the least value to the greatest."""

    title: str
    x_axis: str
    y_axis: str
    points: Sequence[tuple[float, float]]


def svg(panels: Sequence[Panel]) -> str:
    """The panels in one picture, readable on light and dark pages."""
    drawn = "".join(
        f'<g transform="translate({index * (WIDTH + MARGIN)},0)">{_panel(panel)}</g>'
        for index, panel in enumerate(panels)
    )
    width = len(panels) * (WIDTH + MARGIN)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {HEIGHT + MARGIN}" '
        f'font-family="sans-serif" font-size="11" fill="#777" stroke="none">{drawn}</svg>\n'
    )


def _panel(panel: Panel) -> str:
    xs, ys = [x for x, _ in panel.points], [y for _, y in panel.points]
    across, up = _scale(xs, MARGIN, WIDTH), _scale(ys, HEIGHT - MARGIN // 2, MARGIN // 2)
    parts = [_text(WIDTH / 2, 12, panel.title), _text(WIDTH / 2, HEIGHT + 30, panel.x_axis)]
    parts.append(f'<text x="4" y="{MARGIN // 2}">{panel.y_axis}</text>')
    for x, y in panel.points:
        parts.append(f'<circle cx="{across(x):.1f}" cy="{up(y):.1f}" r="4" fill="#c40"/>')
        parts.append(_text(across(x), up(y) - 8, f"{y:.1f}"))
        parts.append(_text(across(x), HEIGHT + 10, f"{x:,.0f}"))
    parts.append(_line([(across(x), up(y)) for x, y in panel.points], "#c40"))
    return "".join(parts)


def _scale(values: Sequence[float], start: float, end: float) -> Callable[[float], float]:
    low, high = math.log(min(values)), math.log(max(values))
    return lambda value: start + (end - start) * (math.log(value) - low) / ((high - low) or 1)


def _line(points: Sequence[tuple[float, float]], color: str) -> str:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="1.5"/>'


def _text(x: float, y: float, text: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="middle">{text}</text>'
