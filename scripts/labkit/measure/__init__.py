# SPDX-License-Identifier: GPL-2.0
"""What came out of a run: who makes it, where it is kept, its metrics."""
