# SPDX-License-Identifier: GPL-2.0
"""The laboratory: real kernels in virtual time, behind scripts/lab.

There are four packages in this order: model (the settings of a run), world (the kernel, guests and
topology that execute it), measure (its results) and tell (reports and claims).  A package may
import the packages before it in this list, but not those after it.  All packages may import errors,
paths, host and libraries.  The command modules, such as cli and stock_cli, may import everything.
tests/test_lint.py checks the order.
"""
