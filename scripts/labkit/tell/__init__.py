# SPDX-License-Identifier: GPL-2.0
"""What the runs mean: findings, claims, plots, the report, the demos."""
