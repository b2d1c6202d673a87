# SPDX-License-Identifier: GPL-2.0
"""The laboratory: real kernels in virtual time, behind scripts/lab."""
