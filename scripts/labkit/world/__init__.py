# SPDX-License-Identifier: GPL-2.0
"""What a run takes place in: kernels, guests and their programs, topologies."""
