# SPDX-License-Identifier: GPL-2.0
#
# tcpcc: TCP congestion control modules for stock kernels.  "make help" lists what there is.

KDIR ?= /lib/modules/$(shell uname -r)/build
MODULES := $(patsubst %.o,%,$(shell sed -n 's/^obj-m [:+]= *\([^$$]*\)$$/\1/p' Kbuild))
VERSION := $(shell sed -n 's/^PACKAGE_VERSION="\(.*\)"/\1/p' dkms.conf)
DKMS_SOURCE = $(INSTALL_MOD_PATH)/usr/src/tcpcc-$(VERSION)
TC_PLUGINS := $(patsubst %.c,%.so,$(wildcard tc/q_*.c))
SOURCES := Makefile Kbuild dkms.conf scripts/left-out COPYING $(wildcard *.c) feedback nist rivals sched include
# What the lab needs beside the modules' sources
LAB := $(addprefix scripts/,claims.toml lab labkit networks python requirements.txt scenarios setup stock traces) \
	$(wildcard tc/*.[ch]) tests/kunit
PYTHON := scripts/python

# The directory where this system's tc looks for plug-ins; its path is in the program tc
TC_LIB_DIR ?= $(or $(shell grep -aoEm1 '/usr/lib[a-z0-9_/-]*/tc\b' "$$(command -v tc)" 2>/dev/null | \
	head -n 1),/usr/lib/tc)
TC_DESTINATION = $(INSTALL_MOD_PATH)$(TC_LIB_DIR)
PREFIX ?= /usr/local
MAN_DESTINATION = $(INSTALL_MOD_PATH)$(PREFIX)/share/man/man8
# The command tcpcc, systemd's unit, the lab, and the link by which users call the command
COMMAND_DESTINATION = $(INSTALL_MOD_PATH)$(PREFIX)/share/tcpcc
UNIT_DESTINATION = $(PREFIX)/lib/systemd/system
LAB_DESTINATION = $(INSTALL_MOD_PATH)$(PREFIX)/share/tcpcc-lab
COMMAND_LINK = $(INSTALL_MOD_PATH)$(PREFIX)/bin/tcpcc

# Kernels of the wider matrix (make check-kernels)
TCPCC_KERNELS ?= 6.1,6.12,7.2
VARIANTS := $(addprefix 6.12-,debug clang i386 s390x hz250 hz1000 kcsan)
# Tests that depend on the kernel, or have more cases here; the others are about the lab
BY_KERNEL := $(patsubst %,tests/test_%.py,stock modules kernels life agreement others hosts ecn bench)

comma := ,
RELEASE = $(or $(shell sed -n 's/.*UTS_RELEASE "\(.*\)"/\1/p' "$(KDIR)/include/generated/utsrelease.h" \
	2>/dev/null),$(shell uname -r))
MODULES_DIR = $(INSTALL_MOD_PATH)/lib/modules/$(RELEASE)
KBUILD = @$(MAKE) --no-print-directory -C "$(KDIR)" M="$(CURDIR)"

# Without the kernel's own key nothing can be signed, and sign-file would only complain.
UNSIGNED = $(if $(wildcard $(KDIR)/certs/signing_key.pem),,CONFIG_MODULE_SIG_ALL=)

SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -c
export PATH := $(PATH):/usr/sbin:/sbin

.PHONY: modules bpf bpf-install headers root loadable install uninstall dkms-install dkms-uninstall \
	tc tc-install tc-uninstall command-install command-uninstall \
	dkms-sources lab-install deb release check-packages \
	demo demo-acp check check-kernels check-grid check-life fuzz report bench docs lint clean help

modules: headers
	@test -z "$(TCPCC_LEFT_OUT)" || echo "Left out: $(TCPCC_LEFT_OUT)"
	$(KBUILD) modules

# Options and statistics of our qdiscs for the tc that is installed
tc: $(TC_PLUGINS)

tc/%.so: tc/%.c $(wildcard tc/*.h) include/tcpcc_pkt_sched.h
	$(CC) -O2 -Wall -Wextra $(CFLAGS) -shared -fPIC -Iinclude $(LDFLAGS) -o $@ $<

# The senders as BPF, for machines where no module can be built or loaded: docs/bpf.md
bpf:
	@$(MAKE) --no-print-directory -C bpf

bpf-install: root bpf
	@install -D -m 644 -t "$(INSTALL_MOD_PATH)$(PREFIX)/lib/tcpcc/bpf" bpf/build/*.bpf.o
	@sed 's|@TCPCC@|$(PREFIX)/bin/tcpcc|' bpf/tcpcc-bpf@.service | \
		install -D -m 644 /dev/stdin "$(INSTALL_MOD_PATH)$(UNIT_DESTINATION)/tcpcc-bpf@.service"

headers:
	@test -e "$(KDIR)/Makefile" || { \
		echo "No kernel headers in $(KDIR): install linux-headers-$$(uname -r), or name a kernel tree with KDIR=" >&2; \
		exit 1; }

root:
	@test -n "$(INSTALL_MOD_PATH)" || test "$$(id -u)" = 0 || { \
		echo "This changes /lib/modules: run it with sudo" >&2; exit 1; }

# Modules for another kernel may be installed anywhere.  The running one must be able to load ours.
loadable:
	@test "$(RELEASE)" != "$$(uname -r)" || test -e /proc/modules || { \
		echo "The running kernel cannot load modules; 'make demo' needs none loaded here" >&2; exit 1; }

tc-install: root tc
	@install -D -m 644 -t "$(TC_DESTINATION)" $(TC_PLUGINS)
	@install -D -m 644 -t "$(MAN_DESTINATION)" tc/*.8

tc-uninstall: root
	@rm -f $(patsubst tc/%,"$(TC_DESTINATION)/%",$(TC_PLUGINS)) \
		$(patsubst tc/%,"$(MAN_DESTINATION)/%",$(wildcard tc/*.8))

command-install: root
	@install -D -m 755 -t "$(COMMAND_DESTINATION)" scripts/tcpcc
	@install -D -m 644 -t "$(COMMAND_DESTINATION)/tcpcckit" scripts/tcpcckit/*.py
	@install -D -m 644 -t "$(MAN_DESTINATION)" scripts/tcpcc.8
	@mkdir -p "$(dir $(COMMAND_LINK))" && ln -sf ../share/tcpcc/tcpcc "$(COMMAND_LINK)"

command-uninstall: root
	@rm -rf "$(COMMAND_DESTINATION)"
	@rm -f "$(COMMAND_LINK)" "$(MAN_DESTINATION)/tcpcc.8"

install: root headers loadable modules tc-install command-install
	$(KBUILD) INSTALL_MOD_DIR=updates $(UNSIGNED) modules_install 2>&1 | sed "/missing 'System.map'/d"
	@depmod $(if $(INSTALL_MOD_PATH),-b "$(INSTALL_MOD_PATH)") "$(RELEASE)"
	@echo "Installed for $(RELEASE): $(MODULES). Undo: make uninstall"

uninstall: root tc-uninstall command-uninstall
	@for module in $(MODULES); do \
		rm -f "$(MODULES_DIR)/updates/$$module.ko" "$(MODULES_DIR)/updates/$$module".ko.*; \
		rmdir "$(MODULES_DIR)/updates/$$(dirname $$module)" 2>/dev/null; name=$${module##*/}; \
		test ! -e "/sys/module/$$name" || echo "$$name is still loaded: modprobe -r $$name"; done
	@depmod $(if $(INSTALL_MOD_PATH),-b "$(INSTALL_MOD_PATH)") "$(RELEASE)"
	@echo "Removed from $(RELEASE): $(MODULES)"

dkms-sources:
	install -d "$(DKMS_SOURCE)"
	rm -rf "$(DKMS_SOURCE)/left-out"
	cp -r --parents $(SOURCES) "$(DKMS_SOURCE)"

# For packages: the lab with the layout of a checkout, and the command tcpcc-lab
lab-install:
	install -d "$(LAB_DESTINATION)" "$(INSTALL_MOD_PATH)$(PREFIX)/bin"
	cp -r --parents $(SOURCES) $(LAB) "$(LAB_DESTINATION)"
	find "$(LAB_DESTINATION)" -name __pycache__ -prune -exec rm -rf {} +
	ln -sf ../share/tcpcc-lab/scripts/lab "$(INSTALL_MOD_PATH)$(PREFIX)/bin/tcpcc-lab"

deb:
	@packaging/deb

release:
	@KDIR="$(KDIR)" packaging/release $(COMMIT)

check-packages:
	@scripts/setup packages
	@$(PYTHON) -m pytest -n 0 --durations 15 tests/packages/clean_systems.py

# DKMS builds the modules again for each kernel that is installed later.
dkms-install: root headers loadable tc-install command-install
	@command -v dkms >/dev/null || { echo "DKMS is missing: install dkms" >&2; exit 1; }
	@$(MAKE) --no-print-directory dkms-sources
	test -e "/var/lib/dkms/tcpcc/$(VERSION)" || dkms add -m tcpcc -v $(VERSION)
	dkms install -m tcpcc -v $(VERSION)

dkms-uninstall: root tc-uninstall command-uninstall
	dkms remove -m tcpcc -v $(VERSION) --all
	rm -rf "$(DKMS_SOURCE)"

demo:
	@scripts/setup demo
	@scripts/lab demo

demo-acp:
	@scripts/setup demo
	@scripts/lab demo acp

check:
	@scripts/setup check
	@PYTHONPATH=scripts $(PYTHON) -m labkit.world.kernel
	@$(PYTHON) -m pytest -n "$$(nproc)" --dist loadgroup --durations 15 tests

check-kernels:
	@scripts/setup kernels
	@PYTHONPATH=scripts $(PYTHON) -m labkit.world.kernel $(VARIANTS) $(subst $(comma), ,$(TCPCC_KERNELS))
	@TCPCC_KERNELS=$(TCPCC_KERNELS) $(PYTHON) -m pytest -n "$$(nproc)" --dist loadgroup --durations 15 \
		$(BY_KERNEL)

# Snakemake and its plug-in for Slurm, in their own environment beside the lab's cache
SNAKEMAKE := snakemake==9.27.1 snakemake-executor-plugin-slurm==2.8.0
SNAKEMAKE_HOME = $(or $(TCPCC_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/tcpcc)/venv/snakemake-9.27.1
check-grid:
	@scripts/setup check
	@command -v slurmctld slurmd munged >/dev/null || { \
		echo "Slurm is missing: apt-get install slurm-wlm munge" >&2; exit 1; }
	@test -e "$(SNAKEMAKE_HOME)/.ready" || { /usr/bin/python3 -m venv "$(SNAKEMAKE_HOME)" && \
		"$(SNAKEMAKE_HOME)/bin/pip" install -q $(SNAKEMAKE) && touch "$(SNAKEMAKE_HOME)/.ready"; }
	@TCPCC_SNAKEMAKE="$(SNAKEMAKE_HOME)/bin/snakemake" $(PYTHON) -m pytest tests/test_grid.py

LIFE_ROUNDS ?= 10000
check-life:
	@scripts/setup kernels
	@LIFE_ROUNDS=$(LIFE_ROUNDS) $(PYTHON) -m pytest -n "$$(nproc)" --dist loadgroup tests/test_life.py

fuzz:
	@scripts/setup check
	@$(MAKE) --no-print-directory -C tests/fuzz

report:
	@scripts/setup demo
	@scripts/lab report

bench:
	@scripts/setup demo
	@scripts/lab bench --output report/bench.json

docs:
	@scripts/setup demo
	@$(PYTHON) -m sphinx -q -W --keep-going -b html docs report/docs
	@echo "report/docs/index.html"

lint:
	@scripts/setup check
	@scripts/lint

clean:
	@test ! -e "$(KDIR)/Makefile" || $(subst @,,$(KBUILD)) clean
	@rm -f $(TC_PLUGINS)
	@find . -name __pycache__ -prune -exec rm -rf {} +
	@rm -rf .pytest_cache tests/fuzz/build bpf/build

help:
	@echo "make                 the modules for the running kernel, or for KDIR=tree"
	@echo "make tc              the plug-ins by which tc knows our qdiscs; make install includes them"
	@echo "make bpf             the senders as BPF objects, for machines that load no module"
	@echo "make bpf-install     these, for the command tcpcc load (as root)"
	@echo "make install         into /lib/modules of that kernel (as root); make uninstall undoes it"
	@echo "make dkms-install    the same for this and all later kernels; make dkms-uninstall"
	@echo "make demo            the main job, in the lab: sets up what it needs, changes nothing here"
	@echo "make demo-acp        the same for ACP: users who join and leave, and routers that say the rate"
	@echo "make check           all tests: sets up what they need"
	@echo "make check-kernels   the modules on kernels $(TCPCC_KERNELS), by clang, on 32 bits, big-endian,"
	@echo "                     and the kernel's sanitizers"
	@echo "make check-grid      a report by one process, by Snakemake, and on a Slurm of one node: the same"
	@echo "make check-life      all modules loaded, used and unloaded LIFE_ROUNDS times (10000: hours)"
	@echo "make deb             Debian packages: dist/tcpcc-dkms, tcpcc, tcpcc-bpf and tcpcc-lab"
	@echo "make release         the source archive of HEAD, or of COMMIT=tag, checked: dist/tcpcc-VERSION.tar.gz"
	@echo "make check-packages  these on clean Debian 12 and 13, with their kernels, in QEMU (as root)"
	@echo "make fuzz            what reads packets and messages, with any bytes, under ASan and UBSan;"
	@echo "                     FUZZ_SECONDS=20 each, or FUZZ_RUNS=1000000"
	@echo "make report          the papers' tables and figures beside ours: report/index.html"
	@echo "make bench           what an ACK, a segment and a packet cost, beside what is wanted, and"
	@echo "                     report/bench.json; wants a machine with nothing else to do"
	@echo "make docs            the documents as pages: report/docs/index.html"
	@echo "make lint            checkpatch, sparse, shellcheck, ruff, codespell"
	@echo "make clean           removes what builds leave in this tree (the cache stays)"
