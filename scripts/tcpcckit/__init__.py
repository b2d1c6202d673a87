# SPDX-License-Identifier: GPL-2.0
"""The command tcpcc, for the user's own machine: system.py asks the kernel and its tools, and
each verb says what that means.  Python's standard library only."""
