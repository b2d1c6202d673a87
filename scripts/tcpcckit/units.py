# SPDX-License-Identifier: GPL-2.0
"""Numbers with units, for the eye."""


def rate(bps: float) -> str:
    """95.6 Mb/s of 95639784."""
    for scale, unit in ((1e9, "Gb/s"), (1e6, "Mb/s"), (1e3, "kb/s")):
        if bps >= scale:
            return f"{bps / scale:.3g} {unit}"
    return f"{bps:.3g} b/s"


def size(count: float) -> str:
    """4 MiB of 4194304."""
    for scale, unit in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= scale:
            return f"{count / scale:.3g} {unit}"
    return f"{count:.0f} bytes"
