# SPDX-License-Identifier: GPL-2.0
"""The small pictures of docs/results show what was drawn."""

from itertools import combinations
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from PIL import Image

from labkit.tell import plot, png


def written(pixels, target: Path) -> Image.Image:
    png.write(pixels, target)
    return Image.open(target)


@pytest.mark.parametrize(("colours", "bits"), [(16, 4), (17, 8), (64, 8)])
@pytest.mark.parametrize("width", [40, 41])
def test_unlike_colours_stay(colours: int, bits: int, width: int, tmp_path: Path) -> None:
    """In every pixel, also if the last byte of a row has one pixel only."""
    random = np.random.default_rng(1)
    cube = np.stack(np.meshgrid(*[(0, 85, 170, 255)] * 3), axis=-1).reshape(-1, 3)[:colours]
    pixels = cube[random.permutation(np.arange(30 * width) % colours)].reshape(30, width, 3)
    shown = written(pixels, tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes()[24] == bits
    assert np.array_equal(np.asarray(shown.convert("RGB")), pixels)


def test_lines_keep_their_colours(tmp_path: Path) -> None:
    """Those of all senders at once.  No pixel changes much; a picture gives one file."""
    figure, axes = plt.subplots(figsize=(9, 4))
    for place, colour in enumerate(sorted({*plot.COLOURS.values()})):
        axes.plot([0, 9], [place, place + 3], color=colour)
        axes.plot(place, 20, "o", color=colour, markersize=9)
    figure.canvas.draw()
    drawn = np.asarray(figure.canvas.buffer_rgba())[..., :3]
    plt.close(figure)
    shown = np.asarray(written(drawn, tmp_path / "a.png").convert("RGB"))
    assert np.linalg.norm(drawn.astype(int) - shown, axis=2).max() <= png.FAR
    pure = [np.rint(np.multiply(to_rgb(c), 255)) for c in sorted({*plot.COLOURS.values()})]
    is_of = [(drawn == colour).all(axis=2) for colour in pure]
    became = [np.unique(shown[of], axis=0) for of in is_of]
    assert all(len(one) == 1 for one in became)
    apart = [(a, b) for a, b in combinations(range(len(pure)), 2)
             if (became[a] == became[b]).all()]  # fmt: skip
    assert not apart
    written(drawn, tmp_path / "b.png")
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()
    Image.fromarray(drawn).save(tmp_path / "whole.png", optimize=True)
    assert (tmp_path / "a.png").stat().st_size < (tmp_path / "whole.png").stat().st_size / 2
