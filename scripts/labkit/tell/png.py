# SPDX-License-Identifier: GPL-2.0
"""Writes small, reproducible PNG files with few colours, for the repository.

A drawing has some pure colours and, at the edges of lines and letters, thousands of mixtures.  The
palette contains the pure colours unchanged, and a mixture only if no similar colour is in it.  The
palettes of libraries contain mean colours, so that the lines of two senders may get one colour.
"""

from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

FAR = 52  # a colour is added to the palette if its distance from all of the palette is larger
NEAR = 20  # the same for a colour of many pixels
MANY = 0.004  # share of all pixels that counts as many


def write(pixels: Any, target: Path) -> None:
    """Writes a picture; pixels: rows of pixels with red, green and blue."""
    shown, palette = _few(np.asarray(pixels, int))
    picture = Image.fromarray(shown)
    picture.putpalette(palette.tobytes())
    picture.save(target, "PNG", optimize=True)


def _few(pixels: Any) -> tuple[Any, Any]:
    """The index of each pixel's colour in a palette, and the palette."""
    found, of, counts = np.unique(pixels @ (1 << 16, 1 << 8, 1), return_inverse=True,
                                  return_counts=True)  # fmt: skip
    colours = found[:, None] >> (16, 8, 0) & 255
    # In the distance, hue counts twice: greys are edges of letters, hues distinguish lines.
    seen = 2 * colours - colours.mean(axis=1, keepdims=True)
    kept: list[int] = []
    nearest = np.full(len(seen), np.inf)
    for at in np.argsort(-counts, kind="stable"):
        if nearest[at] > (NEAR if counts[at] > MANY * of.size else FAR):
            kept.append(at)
            nearest = np.minimum(nearest, _distance(seen, seen[at]))
    shown = _distance(seen[:, None], seen[kept]).argmin(axis=1)[of].reshape(pixels.shape[:2])
    return shown.astype(np.uint8), colours[kept].astype(np.uint8)


def _distance(a: Any, b: Any) -> Any:
    return np.linalg.norm(a - b, axis=-1)
