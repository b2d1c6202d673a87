# SPDX-License-Identifier: GPL-2.0
"""The results of runs: execution, storage, metrics."""
