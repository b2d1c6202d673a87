# SPDX-License-Identifier: GPL-2.0
"""The libraries that the laboratory uses, in a virtual environment of the project's own.

scripts/requirements.txt names each with its version and the digests of its files.  The environment
is in the cache, python/<digest of that file and of which Python this is>; scripts/setup makes it,
and scripts/lab and the other commands start themselves again in it, and make it if need be.  It is
of the system's Python, and only this module may be imported without it: it uses Python's own
library alone.
"""

import contextlib
import hashlib
import os
import shutil
import signal
import sys
from pathlib import Path
from typing import NoReturn

from .errors import LabError
from .paths import REPO, cache_root

PYTHON = Path("/usr/bin/python3")
REQUIREMENTS = REPO / "scripts" / "requirements.txt"
KEPT = 3  # environments of the past and present
_READY = ".ready"  # is in one that is whole


def home(root: Path | None = None) -> Path:
    """Where the environment is, or is to be; in the cache root, or in the user's."""
    digest = hashlib.sha256(REQUIREMENTS.read_bytes() + PYTHON.resolve().name.encode())
    return (root or cache_root()) / "python" / digest.hexdigest()[:12]


def ready(where: Path) -> bool:
    """Whether an environment is there as a whole."""
    return (where / _READY).exists()


def inside() -> bool:
    """Whether this Python is that of the environment, in whichever cache."""
    return Path(sys.prefix).name == home().name and ready(Path(sys.prefix))


def enter(arguments: list[str] | None = None) -> None:
    """Goes on in the environment: what runs starts again there, or instead Python with arguments.

    If it is not there it is made, as the lab's kernel is.  Where that fails, one line says what to
    do, and the status is 1.
    """
    if arguments is None and inside():
        return
    where = _installed()
    if not where:
        try:
            make()
        except LabError as error:
            _die(str(error))
        except KeyboardInterrupt:
            raise SystemExit(130) from None
    python = str((where or home()) / "bin" / "python")
    os.execv(python, [python, *(sys.orig_argv[1:] if arguments is None else arguments)])


def borrow() -> None:
    """Makes the libraries importable where another program has begun, such as Mininet.

    If they are not installed, says so in one line and ends with status 1.
    """
    where = _installed()
    if not where:
        _die("its libraries are not installed")
    (packages,) = where.glob("lib/python*/site-packages")
    sys.path.append(str(packages))


def _installed() -> Path | None:
    """The environment, if it is there; under sudo also that of the user who called it."""
    places = [home()]
    if user := os.environ.get("SUDO_USER"):
        places.append(home(Path(f"~{user}/.cache/tcpcc").expanduser()))
    return next(filter(ready, places), None)


def _die(why: str) -> NoReturn:
    setup = REPO / "scripts" / "setup"
    shown = setup.relative_to(Path.cwd()) if Path.cwd() == REPO else setup
    print(f"{Path(sys.argv[0]).name}: {why}; to set up, run {shown} demo", file=sys.stderr)
    raise SystemExit(1)


def make() -> None:
    """Makes the environment if it is not there; LabError if that fails.

    It counts only when all of it is there: what was interrupted is begun anew.
    """
    from .host import Progress, forget_old, locked, run_logged, tail_of, write_marker

    where = home()
    log = where.with_name(f"{where.name}.log")
    install = ["-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check",
               "--require-hashes", "--only-binary", ":all:", "--retries", "2",
               "-r", REQUIREMENTS]  # fmt: skip
    settings = {name: text for name, text in os.environ.items() if name.isupper()}  # pip's
    with Progress("libraries", True) as shown, locked(where, shown) as lock:
        if not ready(where):
            try:
                for step in ([PYTHON, "-I", "-m", "venv", "--clear", where],
                             [where / "bin" / "python", "-I", *install]):  # fmt: skip
                    if run_logged(step, log, keep=(lock,), **settings,
                                  poll=lambda: shown.show("installing from PyPI")):  # fmt: skip
                        raise _why(tail_of(log), log)
                write_marker(where / _READY, "")
            finally:
                if not ready(where):
                    shutil.rmtree(where, ignore_errors=True)
    with contextlib.suppress(OSError):
        os.utime(where)  # is in use
    forget_old(where.parent, KEPT)


def _why(said: str, log: Path) -> LabError:
    """What pip's last words come to."""
    if "connection broken" in said or "Temporary failure" in said or "Max retries" in said:
        return LabError("PyPI cannot be reached, from where libraries are installed: check the"
                        " network, or name a mirror in pip's configuration")  # fmt: skip
    last = said.splitlines()[-1] if said else "it said nothing"
    return LabError(f"cannot install the libraries of scripts/requirements.txt: {last} (see {log})")


def main() -> int:
    """The exit status of scripts/setup's part."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        make()
    except LabError as error:
        print(f"setup: {error}", file=sys.stderr)
        return error.status
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        print(f"setup: {error.strerror}: {error.filename or 'no file'}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
