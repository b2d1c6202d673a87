# SPDX-License-Identifier: GPL-2.0
"""The senders as BPF: loads, replaces, unloads and configures them with libbpf.

An object, NAME.bpf.o, has one or two senders.  Each loaded sender is a congestion control.  Its
parts are pinned in a directory below /sys/fs/bpf/tcpcc: a link, or the struct_ops map if the kernel
has no links for it (before 6.4), and the maps of its variables.
"""

import ctypes
import errno
import functools
import os
import re
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .system import TcpccError, read

PINS = Path("/sys/fs/bpf/tcpcc")
_BTF = Path("/sys/kernel/btf/vmlinux")
_HERE = Path(__file__).resolve().parent
# The folders of objects in a checkout, and next to the installed command
_FOLDERS = (_HERE.parents[1] / "bpf/build", _HERE.parents[2] / "lib/tcpcc/bpf")

# Constants of include/uapi/linux/bpf.h and btf.h
_MAP_STRUCT_OPS = 26
_STRUCT_OPS = 44
_F_LINK = 1 << 13
_LOG_STATS = 4
_KIND_DATASEC = 15
_CLOCK_MONOTONIC_COARSE = 6
# Constants of capability.h: for BPF, and for programs that read the kernel's memory
_CAPABILITIES = {"CAP_BPF": 39, "CAP_PERFMON": 38}

# Names in a kernel's BTF that show its features
_OWN_HOOK = b"cwnd_event_tx_start"  # a hook for the start of sending: 7.1 and later
_LINKS = b"bpf_struct_ops_link"  # links for struct_ops maps: 6.4 and later

_PARAMS, _HZ = ".data.params", ".rodata.hz"
# The maps of an object that are pinned in addition to its senders, and the names of the pins
_PINNED = {_PARAMS: "parameters", ".data.watched": "watched", "tcpcc_events": "events"}


@dataclass(frozen=True)
class Parameter:
    """A parameter of a sender, from its description in the object."""

    name: str
    text: str
    least: int
    most: int
    default: int
    offset: int  # in the map of variables, bytes


@dataclass(frozen=True)
class Verified:
    """The verifier's counts for a program."""

    program: str
    instructions: int  # that it processed
    states: int  # that it stored


# libbpf -----------------------------------------------------------------------------------------


def _libbpf() -> ctypes.CDLL:
    """The library, with the types of the functions that are used."""
    try:
        lib = ctypes.CDLL("libbpf.so.1", use_errno=True)
    except OSError:
        raise TcpccError("libbpf is missing: install the package libbpf1") from None
    text, pointer, number = ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int
    for name, result, *types in (
        ("libbpf_set_print", pointer, pointer),
        ("bpf_object__open_file", pointer, text, pointer),
        ("bpf_object__load", number, pointer),
        ("bpf_object__close", None, pointer),
        ("bpf_object__btf", pointer, pointer),
        ("bpf_object__next_map", pointer, pointer, pointer),
        ("bpf_object__next_program", pointer, pointer, pointer),
        ("bpf_program__name", text, pointer),
        ("bpf_program__set_log_level", number, pointer, ctypes.c_uint),
        ("bpf_program__set_log_buf", number, pointer, pointer, ctypes.c_size_t),
        ("bpf_map__name", text, pointer),
        ("bpf_map__type", number, pointer),
        ("bpf_map__fd", number, pointer),
        ("bpf_map__set_map_flags", number, pointer, ctypes.c_uint),
        ("bpf_map__set_initial_value", number, pointer, pointer, ctypes.c_size_t),
        ("bpf_map__attach_struct_ops", pointer, pointer),
        ("bpf_link__fd", number, pointer),
        ("bpf_link__disconnect", None, pointer),
        ("bpf_link__destroy", number, pointer),
        ("bpf_link_create", number, number, number, number, pointer),
        ("bpf_link_update", number, number, number, pointer),
        ("bpf_obj_pin", number, number, text),
        ("bpf_obj_get", number, text),
        ("bpf_map_lookup_elem", number, number, pointer, pointer),
        ("bpf_map_update_elem", number, number, pointer, pointer, ctypes.c_ulonglong),
        ("bpf_map_delete_elem", number, number, pointer),
        ("ring_buffer__new", pointer, number, pointer, pointer, pointer),
        ("ring_buffer__consume", number, pointer),
        ("ring_buffer__free", None, pointer),
        ("btf__find_by_name_kind", number, pointer, text, ctypes.c_uint),
        ("btf__type_by_id", pointer, pointer, ctypes.c_uint),
        ("btf__name_by_offset", text, pointer, ctypes.c_uint),
    ):  # fmt: skip
        function = getattr(lib, name)
        function.restype, function.argtypes = result, types
    return lib


class Object:
    """An open object."""

    def __init__(self, path: Path) -> None:
        self.lib = _libbpf()
        self.path = path
        self.lib.libbpf_set_print(None)
        self.pointer = self.lib.bpf_object__open_file(os.fsencode(path), None)
        if not self.pointer:
            raise TcpccError(f"cannot read {path}: {os.strerror(ctypes.get_errno())}")

    def __enter__(self) -> "Object":
        return self

    def __exit__(self, *_: object) -> None:
        self.lib.bpf_object__close(self.pointer)

    def load(self) -> None:
        """Loads the object into the kernel; TcpccError if that fails, such as in the verifier."""
        ticks = ctypes.c_uint(round(1 / time.clock_getres(_CLOCK_MONOTONIC_COARSE)))
        if hz := self.maps.get(_HZ):
            self.lib.bpf_map__set_initial_value(hz, ctypes.byref(ticks), 4)
        if self.lib.bpf_object__load(self.pointer):
            code = ctypes.get_errno()
            why = os.strerror(code)
            if code == errno.EPERM:
                lacking = " and ".join(_lacking())
                why = f"that needs {lacking}" if lacking else "a security policy (LSM) forbids it"
            raise TcpccError(f"the kernel does not load {self.path.name}: {why}")

    def _each(self, following: object) -> Iterator[int]:
        item = following(self.pointer, None)
        while item:
            yield item
            item = following(self.pointer, item)

    @property
    def programs(self) -> dict[str, int]:
        """The pointers of the programs, by name."""
        each = self._each(self.lib.bpf_object__next_program)
        return {self.lib.bpf_program__name(one).decode(): one for one in each}

    @property
    def maps(self) -> dict[str, int]:
        """The pointers of the maps, by name; a map of variables has the name of their section."""
        each = self._each(self.lib.bpf_object__next_map)
        return {self.lib.bpf_map__name(one).decode(): one for one in each}

    @property
    def senders(self) -> dict[str, int]:
        """The pointers of the struct_ops maps, by name."""
        return {name: one for name, one in self.maps.items()
                if self.lib.bpf_map__type(one) == _MAP_STRUCT_OPS}  # fmt: skip

    def variables(self, section: str) -> dict[str, int]:
        """The offset of each variable in a section, bytes."""
        btf = self.lib.bpf_object__btf(self.pointer)
        found = self.lib.btf__find_by_name_kind(btf, section.encode(), _KIND_DATASEC)
        if found < 0:
            return {}
        at = self.lib.btf__type_by_id(btf, found)
        info = struct.unpack("III", ctypes.string_at(at, 12))[1]
        offsets = {}
        for k in range(info & 0xFFFF):
            kind, offset, _size = struct.unpack("III", ctypes.string_at(at + 12 + 12 * k, 12))
            name = ctypes.string_at(self.lib.btf__type_by_id(btf, kind), 4)
            text = self.lib.btf__name_by_offset(btf, struct.unpack("I", name)[0])
            offsets[text.decode()] = offset
        return offsets

    @property
    def parameters(self) -> list[Parameter]:
        """The parameters, from their descriptions in the object, which are those of the module."""
        offsets = self.variables(_PARAMS)
        pattern = rb"parameter=(\w+):([^\0]*) \((\d+) to (\d+), default (\d+)\)\0"
        return [
            Parameter(name.decode(), text.decode(), int(lo), int(hi), int(init),
                      offsets[name.decode()])
            for name, text, lo, hi, init in re.findall(pattern, self.path.read_bytes())
        ]  # fmt: skip


# Objects ----------------------------------------------------------------------------------------


def folder() -> Path:
    """The folder of the objects; TcpccError if there are none."""
    for path in _FOLDERS:
        if any(path.glob("*.bpf.o")):
            return path
    raise TcpccError("no BPF objects found: install the package tcpcc-bpf, or run make bpf")


@functools.cache
def _abilities() -> frozenset[bytes]:
    """The features of this kernel; cached, because the BTF has several megabytes."""
    if not _BTF.exists():
        raise TcpccError("no BPF: this kernel has no type information (CONFIG_DEBUG_INFO_BTF)")
    described = _BTF.read_bytes()
    return frozenset(name for name in (_OWN_HOOK, _LINKS) if b"\0%s\0" % name in described)


def _object(sender: str) -> Path:
    """The path of a sender's object for this kernel."""
    own_hook = _OWN_HOOK in _abilities()
    names = [f"{sender}.tx_start.bpf.o"] * own_hook + [f"{sender}.bpf.o"]
    for name in names:
        if (folder() / name).exists():
            return folder() / name
    raise TcpccError(f"no BPF sender {sender!r}; there are: {', '.join(senders())}", status=2)


def senders() -> list[str]:
    """The names of the senders that can be loaded."""
    return sorted({path.name.partition(".")[0] for path in folder().glob("*.bpf.o")})


# Loading ----------------------------------------------------------------------------------------


def verify(sender: str) -> list[Verified]:
    """Runs the verifier on a sender's programs, without registering them; returns its counts."""
    with Object(_object(sender)) as found:
        logs = {}
        for name, program in found.programs.items():
            logs[name] = ctypes.create_string_buffer(1 << 16)
            found.lib.bpf_program__set_log_level(program, _LOG_STATS)
            found.lib.bpf_program__set_log_buf(program, logs[name], len(logs[name]))
        found.load()
        counted = []
        for name, log in logs.items():
            said = re.search(rb"processed (\d+) insns.* total_states (\d+)", log.value)
            counted.append(Verified(name, int(said[1]), int(said[2])))
        return counted


def load(sender: str) -> list[str]:
    """Registers and pins a sender's congestion controls; they replace an older version's.

    Returns their names.  Flows with the older version use it until they end.
    """
    _need_rights("load")
    home = PINS / sender
    links = _LINKS in _abilities()
    with Object(_object(sender)) as found:
        for one in found.senders.values():
            found.lib.bpf_map__set_map_flags(one, _F_LINK if links else 0)
        found.load()
        if home.exists() and not links:
            unload(sender)
        home.mkdir(parents=True, exist_ok=True)
        for name, one in found.senders.items():
            _register(found.lib, one, home / name, links)
        for section, pin in _PINNED.items():
            if section in found.maps:
                _pin(found.lib, found.lib.bpf_map__fd(found.maps[section]), home / pin)
        return sorted(found.senders)


def _lacking() -> list[str]:
    """The capabilities for loading that this process does not have."""
    said = re.search(r"^CapEff:\s*(\w+)", read("/proc/self/status"), re.M)
    effective = int(said[1], 16) if said else 0
    return [name for name, bit in _CAPABILITIES.items() if not effective >> bit & 1]


def _need_rights(verb: str) -> None:
    """TcpccError if a subcommand lacks basic rights; the kernel checks the other rights."""
    if "CAP_BPF" in _lacking():
        raise TcpccError(f"run it as root: sudo tcpcc {verb} ...; or with the capabilities"
                         f" {' and '.join(_CAPABILITIES)}")  # fmt: skip
    if not os.path.ismount(PINS.parent):
        raise TcpccError(f"no BPF file system: run mount -t bpf bpf {PINS.parent}")
    places = (PINS, PINS.parent)
    if not any(os.access(path, os.W_OK | os.X_OK, effective_ids=True) for path in places):
        raise TcpccError(f"cannot write below {PINS}: run as root chmod 711 {PINS.parent} and"
                         f" install -d -o USER {PINS}")  # fmt: skip


def _register(lib: ctypes.CDLL, sender: int, pin: Path, links: bool) -> None:
    """Registers a struct_ops map as a congestion control, or replaces that of an existing link."""
    fd = lib.bpf_map__fd(sender)
    old = lib.bpf_obj_get(os.fsencode(pin)) if links and pin.exists() else -1
    if old >= 0:
        # libbpf only fills in the map; it must not get a link of its own
        made = _attach(lib, sender, pin, fill_only=True)
        if lib.bpf_link_update(old, fd, None):
            raise TcpccError(f"cannot replace {pin.name}: {os.strerror(ctypes.get_errno())}")
        os.close(old)
        return
    made = _attach(lib, sender, pin)
    if links and made == fd:
        # libbpf before 1.2 does not support links
        made = lib.bpf_link_create(fd, 0, _STRUCT_OPS, None)
        if made < 0:
            raise TcpccError(_in_use(pin.name))
    _pin(lib, made, pin)


def _attach(lib: ctypes.CDLL, sender: int, pin: Path, fill_only: bool = False) -> int:
    """Attaches a struct_ops map; returns the fd of the link, or of the map before libbpf 1.2.

    fill_only: the attachment may fail.
    """
    link = lib.bpf_map__attach_struct_ops(sender)
    if link:
        fd = lib.bpf_link__fd(link)
        lib.bpf_link__disconnect(link)
        return fd
    if not fill_only:
        raise TcpccError(_in_use(pin.name))
    return -1


def _in_use(cc: str) -> str:
    code = ctypes.get_errno()
    why = os.strerror(code)
    if code == errno.EEXIST:
        why = "this name is registered already, but not by tcpcc load"
    return f"cannot register {cc}: {why}"


def _pin(lib: ctypes.CDLL, fd: int, path: Path) -> None:
    path.unlink(missing_ok=True)
    if lib.bpf_obj_pin(fd, os.fsencode(path)):
        raise TcpccError(f"cannot pin {path}: {os.strerror(ctypes.get_errno())}")


def _home(sender: str) -> Path:
    """The directory with a loaded sender's pins; TcpccError if it is not loaded."""
    if (PINS / sender).is_dir():
        return PINS / sender
    raise TcpccError(f"{sender} is not loaded as BPF; loaded: {', '.join(loaded()) or 'none'}")


def unload(sender: str) -> None:
    """Unregisters a sender's congestion controls; flows that use one keep it until they end."""
    _need_rights("unload")
    home = _home(sender)
    links = _LINKS in _abilities()
    for pin in home.iterdir():
        if pin.name not in _PINNED.values() and not links:
            lib = _libbpf()
            fd = _get(lib, pin)
            lib.bpf_map_delete_elem(fd, ctypes.byref(ctypes.c_uint(0)))
            os.close(fd)
        pin.unlink()
    home.rmdir()


def loaded() -> list[str]:
    """The senders that are loaded."""
    try:
        return sorted(path.name for path in PINS.iterdir())
    except OSError:
        return []


def sender_of(cc: str) -> str:
    """The loaded sender that provides a congestion control; empty if there is none."""
    return next((sender for sender in loaded() if (PINS / sender / cc).exists()), "")


# Variables --------------------------------------------------------------------------------------


def _get(lib: ctypes.CDLL, pin: Path) -> int:
    fd = lib.bpf_obj_get(os.fsencode(pin))
    if fd < 0:
        raise TcpccError(f"cannot open {pin}: {os.strerror(ctypes.get_errno())}")
    return fd


def _read(lib: ctypes.CDLL, fd: int, size: int) -> bytearray:
    value = ctypes.create_string_buffer(size)
    if lib.bpf_map_lookup_elem(fd, ctypes.byref(ctypes.c_uint(0)), value):
        raise TcpccError(f"cannot read a variable: {os.strerror(ctypes.get_errno())}")
    return bytearray(value.raw)


def _write(lib: ctypes.CDLL, fd: int, value: bytes) -> None:
    if lib.bpf_map_update_elem(fd, ctypes.byref(ctypes.c_uint(0)), bytes(value), 0):
        raise TcpccError(f"cannot write a variable: {os.strerror(ctypes.get_errno())}")


def parameters(sender: str) -> dict[str, int]:
    """The values of a loaded sender's parameters, by name."""
    home = _home(sender)
    with Object(_object(sender)) as found:
        known = found.parameters
    lib = _libbpf()
    fd = _get(lib, home / _PINNED[_PARAMS])
    value = _read(lib, fd, 4 * len(known))
    os.close(fd)
    return {one.name: struct.unpack_from("I", value, one.offset)[0] for one in known}


def set_parameter(sender: str, name: str, text: str) -> None:
    """Sets a parameter; it has the range and the error messages of the module's parameter."""
    _need_rights("set")
    home = _home(sender)
    with Object(_object(sender)) as found:
        known = {one.name: one for one in found.parameters}
    if name not in known:
        raise TcpccError(f"{sender} has no parameter {name}; it has: {', '.join(sorted(known))}",
                         status=2)  # fmt: skip
    one = known[name]
    lib = _libbpf()
    fd = _get(lib, home / _PINNED[_PARAMS])
    value = _read(lib, fd, 4 * len(known))
    if not re.fullmatch(r"\d+", text) or not one.least <= int(text) <= one.most:
        now = struct.unpack_from("I", value, one.offset)[0]
        raise TcpccError(f"{name}: '{text[:32]}' is not a whole number from {one.least} to"
                         f" {one.most}, staying at {now}", status=2)  # fmt: skip
    struct.pack_into("I", value, one.offset, int(text))
    _write(lib, fd, value)
    os.close(fd)


# Records of senders -----------------------------------------------------------------------------


class Views:
    """The last record of each flow from the rings of the loaded senders.

    The senders write records while this object is open.

    A record has the fields of the module's tracepoint, in the order that the object describes.
    """

    def __init__(self) -> None:
        self.lib = _libbpf()
        self.last: dict[tuple[int, int], dict[str, int]] = {}  # by the local and the peer's port
        self._rings = [ring for sender in loaded() if (ring := self._open(sender))]

    def _open(self, sender: str) -> tuple[int, int, object] | None:
        home = _home(sender)
        said = re.search(rb"event=\w+:([^\0]*)\0", _object(sender).read_bytes())
        if not said or not (home / "events").exists():
            return None
        members = re.findall(r"([us])(\d+) (\w+);", said[1].decode())
        codes = {"u16": "H", "u32": "I", "u64": "Q", "s32": "i", "s64": "q"}
        record = struct.Struct("@" + "".join(codes[f"{sign}{bits}"] for sign, bits, _ in members))
        names = [name for *_, name in members]

        @ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
        def take(_context: int, data: int, size: int) -> int:
            values = record.unpack(ctypes.string_at(data, size)[: record.size])
            shown = dict(zip(names, values, strict=True))
            self.last[shown.pop("sport"), shown.pop("dport")] = shown
            return 0

        watched = _get(self.lib, home / "watched")
        events = _get(self.lib, home / "events")
        ring = self.lib.ring_buffer__new(events, take, None, None)
        os.close(events)
        if not ring:
            raise TcpccError(f"cannot read the ring of {sender}: {os.strerror(ctypes.get_errno())}")
        _write(self.lib, watched, b"\1")
        return watched, ring, take

    def read(self) -> dict[tuple[int, int], dict[str, int]]:
        """The last record of each flow so far, by the local and the peer's port."""
        for _watched, ring, _take in self._rings:
            self.lib.ring_buffer__consume(ring)
        return self.last

    def close(self) -> None:
        """Closes the rings; the senders stop writing records."""
        for watched, ring, _take in self._rings:
            _write(self.lib, watched, b"\0")
            os.close(watched)
            self.lib.ring_buffer__free(ring)
        self._rings = []
