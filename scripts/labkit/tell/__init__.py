# SPDX-License-Identifier: GPL-2.0
"""The evaluation of runs: findings, claims, plots, the report, the demos."""
