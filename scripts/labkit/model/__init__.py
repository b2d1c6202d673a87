# SPDX-License-Identifier: GPL-2.0
"""What a run is: settings, scenario files, networks, fluid models."""
