# SPDX-License-Identifier: GPL-2.0
"""Numbers with units, as text."""


def number(value: float) -> str:
    """A number, 0 or at least 0.0001, with three digits or all digits before the point."""
    return f"{value:.3g}" if value < 999.5 else f"{value:.0f}"


def rate(bps: float) -> str:
    """A rate as text: 95639784 becomes "95.6 Mb/s"."""
    for scale, unit in ((1e9, "Gb/s"), (1e6, "Mb/s"), (1e3, "kb/s")):
        if bps >= 0.9995 * scale:
            return f"{number(bps / scale)} {unit}"
    return f"{number(bps)} b/s"


def size(count: float) -> str:
    """A size as text: 4194304 becomes "4 MiB"."""
    for scale, unit in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= 0.9995 * scale:
            return f"{number(count / scale)} {unit}"
    return f"{count:.0f} bytes"
