"""Charts as markup: a drawing that needs no script, and what a script needs to make it live."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from janus_jax.html.marks import NARROW, WIDE, Spec, for_page, narrowed

_SIZE = re.compile(r"<svg[^>]*?>", re.DOTALL)
_VIEW = re.compile(r'viewBox="[^"]*"')


@dataclass(frozen=True, slots=True)
class Drawing:
    """One chart of the page.

    Attributes
    ----------
    key
        Its id on the page.
    title, description
        What it is called and what it shows, for those who cannot see it.
    wide, narrow
        SVG elements for a desk and a phone.
    live
        The compiled chart as JSON that is safe inside a script element.
    """

    key: str
    title: str
    description: str
    wide: Markup
    narrow: Markup
    live: Markup


def draw(spec: Spec, key: str, title: str, description: str) -> Drawing:
    """Draw a chart.

    Parameters
    ----------
    spec
        A Vega-Lite specification, such as those of :mod:`janus_jax.html.charts`.
    key
        An identifier of its own on the page.
    title, description
        What the drawing is called and what it shows, for those who cannot see it.
    """
    import vl_convert

    spec = for_page(spec)
    compiled: dict[str, Any] = vl_convert.vegalite_to_vega(spec)
    compiled.pop("$schema", None)

    def drawn(version: Spec, name: str, width: int) -> Markup:
        svg = vl_convert.vegalite_to_svg(version)
        return _labelled(svg, f"{key}-{name}", width, title, description)

    return Drawing(
        key=key,
        title=title,
        description=description,
        wide=drawn(spec, "wide", WIDE),
        narrow=drawn(narrowed(spec), "narrow", NARROW),
        live=embedded(compiled),
    )


def _labelled(svg: str, key: str, width: int, title: str, description: str) -> Markup:
    """An SVG element that scales, with a name and a description."""
    found = _SIZE.search(svg)
    view = _VIEW.search(svg)
    if found is None or view is None:  # pragma: no cover - what the renderer always writes
        raise RuntimeError("the drawing has no size")
    opening = Markup(
        '<svg role="img" aria-labelledby="{key}-t {key}-d" width="{width}" {view}>'
        '<title id="{key}-t">{title}</title><desc id="{key}-d">{description}</desc>'
    ).format(
        key=key,
        width=width,
        view=Markup(view.group()),
        title=title,
        description=description,
    )
    return opening + Markup(svg[found.end() :])  # the renderer escapes text


def embedded(value: Mapping[str, Any]) -> Markup:
    """JSON that can stand in a script element: no ``<``, ``>``, ``&`` and nothing beyond ASCII."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)
