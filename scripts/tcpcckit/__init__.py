# SPDX-License-Identifier: GPL-2.0
"""The command tcpcc, for the user's machine.

system.py reads the state of the kernel with the kernel's tools, and each subcommand interprets it.
Uses only Python's standard library.
"""
