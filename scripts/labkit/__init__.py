# SPDX-License-Identifier: GPL-2.0
"""The laboratory: real kernels in virtual time, behind scripts/lab.

Four packages, of which each uses those before it and none after it: model (what a run is), world
(what it takes place in), measure (what came out) and tell (what it means).  errors, paths, host
and libraries are for all of them; cli and stock_cli, the commands, use them all.
tests/test_lint.py holds this.
"""
