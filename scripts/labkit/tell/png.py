# SPDX-License-Identifier: GPL-2.0
"""Pictures in small files, for the repository: of few colours, and of the same picture the same
file.

A drawing has some pure colours and, at the edges of lines and letters, thousands of mixtures.  The
palette has the pure ones as they are, and a mixture only if it has nothing like that.  Libraries'
palettes of so few colours have means of them, and two senders' lines become one colour.
"""

from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

FAR = 52  # from the palette's colours: one that it has not
NEAR = 20  # and one of many pixels
MANY = 0.004  # of all


def write(pixels: Any, target: Path) -> None:
    """Writes rows of pixels of red, green and blue."""
    shown, palette = _few(np.asarray(pixels, int))
    picture = Image.fromarray(shown)
    picture.putpalette(palette.tobytes())
    picture.save(target, "PNG", optimize=True)


def _few(pixels: Any) -> tuple[Any, Any]:
    """Each pixel's place in a palette, and that."""
    found, of, counts = np.unique(pixels @ (1 << 16, 1 << 8, 1), return_inverse=True,
                                  return_counts=True)  # fmt: skip
    colours = found[:, None] >> (16, 8, 0) & 255
    # Distances in which a hue counts twice: greys are the edges of letters, hues tell lines apart.
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
