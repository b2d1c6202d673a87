# SPDX-License-Identifier: GPL-2.0
"""The environment of a run: kernels, guests and their programs, topologies."""
