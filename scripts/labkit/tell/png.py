# SPDX-License-Identifier: GPL-2.0
"""Pictures in small files, for the repository: of few colours, and of the same picture the same
file.

A drawing has some pure colours and, at the edges of lines and letters, thousands of mixtures.  The
palette has the pure ones as they are, and a mixture only if it has nothing like that.  Libraries'
palettes of so few colours have means of them, and two senders' lines become one colour.
"""

import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np

FAR = 52  # from the palette's colours: one that it has not
NEAR = 20  # and one of many pixels
MANY = 0.004  # of all


def write(pixels: Any, target: Path) -> None:
    """Writes rows of pixels of red, green and blue."""
    shown, palette = _few(np.asarray(pixels, int))
    height, width = shown.shape
    bits = 4 if len(palette) <= 16 else 8
    if bits == 4:
        even = np.pad(shown, ((0, 0), (0, width % 2)))
        shown = even[:, ::2] << 4 | even[:, 1::2]
    rows = np.pad(shown, ((0, 0), (1, 0))).tobytes()  # each begins with its filter: none
    target.write_bytes(
        b"\x89PNG\r\n\x1a\n"
        + _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, bits, 3, 0, 0, 0))
        + _chunk(b"PLTE", palette.tobytes())
        + _chunk(b"IDAT", zlib.compress(rows, 9))
        + _chunk(b"IEND", b"")
    )


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


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
