# SPDX-License-Identifier: GPL-2.0
"""Numbers with units, as text."""


def rate(bps: float) -> str:
    """A rate as text: 95639784 becomes "95.6 Mb/s"."""
    for scale, unit in ((1e9, "Gb/s"), (1e6, "Mb/s"), (1e3, "kb/s")):
        if bps >= scale:
            return f"{bps / scale:.3g} {unit}"
    return f"{bps:.3g} b/s"


def size(count: float) -> str:
    """A size as text: 4194304 becomes "4 MiB"."""
    for scale, unit in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= scale:
            return f"{count / scale:.3g} {unit}"
    return f"{count:.0f} bytes"
