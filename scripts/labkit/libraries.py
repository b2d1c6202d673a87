# SPDX-License-Identifier: GPL-2.0
"""The libraries that the laboratory uses, in a virtual environment.

scripts/requirements.txt lists each library with its version and the digests of its files.  The
environment is in the cache, python/<digest of that file and of the Python's name>.  scripts/setup
makes it.  scripts/lab and the other commands make it if it is missing, and restart themselves in
it.  It uses the system's Python.  Only this module may be imported outside the environment, because
it needs only Python's standard library.
"""

import contextlib
import hashlib
import os
import shutil
import signal
import sys
from pathlib import Path
from typing import NoReturn

from .errors import LabError, show
from .paths import REPO, absolute, cache_root

PYTHON = Path("/usr/bin/python3")
REQUIREMENTS = REPO / "scripts" / "requirements.txt"
KEPT = 3  # environments, the current one included
_READY = ".ready"  # file that is present in a complete environment


def home(root: Path | None = None) -> Path:
    """The directory of the environment, which may not exist yet.

    root: a cache root; default: that of this user.
    """
    return (root or cache_root()) / "python" / _name()


def _name() -> str:
    digest = hashlib.sha256(REQUIREMENTS.read_bytes() + PYTHON.resolve().name.encode())
    return digest.hexdigest()[:12]


def ready(where: Path) -> bool:
    """Whether the environment in this directory is complete."""
    return (where / _READY).exists()


def inside() -> bool:
    """Whether this Python runs in the environment, in any cache."""
    return Path(sys.prefix).name == _name() and ready(Path(sys.prefix))


def enter(arguments: list[str] | None = None) -> None:
    """Restarts this program in the environment, or starts Python there with arguments.

    Makes the environment if it is missing.  If that fails, prints one line that says what to do,
    and exits with status 1.
    """
    if arguments is None and inside():
        return
    where = _installed()
    if not where:
        try:
            make()
        except LabError as error:
            _die(str(error))
        except OSError as error:
            _end(f"{error.strerror}: {error.filename or 'no file'}")
        except KeyboardInterrupt:
            raise SystemExit(130) from None
    python = str((where or home()) / "bin" / "python")
    os.execv(python, [python, *(sys.orig_argv[1:] if arguments is None else arguments)])


def borrow() -> None:
    """Makes the libraries importable in a process of another program, such as Mininet.

    If they are not installed, or not for the Python of that program, prints one line that says
    what to do, and exits with status 1.
    """
    where = _installed()
    if not where:
        _die("its libraries are not installed")
    have = {path.parent.name: path for path in sorted(where.glob("lib/python*/site-packages"))}
    if not have:
        _die(f"its libraries are not complete: remove {where}")
    # compiled libraries can only be imported by the Python version that they were made for
    own = "python{}.{}".format(*sys.version_info)
    if own not in have:
        _end(f"its libraries are for {', '.join(have)}, not for {own}: start it with {PYTHON}")
    sys.path.append(str(have[own]))


def _installed() -> Path | None:
    """The directory of a complete environment, or None.

    Under sudo, it also looks in the cache of the user who called sudo.
    """
    try:
        places = [home()]
    except LabError as error:
        _end(str(error))
    if user := os.environ.get("SUDO_USER"):
        places.append(home(absolute(f"~{user}/.cache/tcpcc")))
    return next(filter(ready, places), None)


def _die(why: str) -> NoReturn:
    setup = REPO / "scripts" / "setup"
    shown = setup.relative_to(Path.cwd()) if Path.cwd() == REPO else setup
    _end(f"{why}; to set up, run {shown} demo")


def _end(why: str) -> NoReturn:
    print(f"{Path(sys.argv[0]).name}: {why}", file=sys.stderr)
    raise SystemExit(1)


def make() -> None:
    """Makes the environment if it is not ready; LabError if that fails.

    An interrupted installation is removed, and the next call starts again.
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
        os.utime(where)  # so that forget_old() sees that it is in use
    forget_old(where.parent, KEPT)


def _why(said: str, log: Path) -> LabError:
    """The error message for the last lines of pip's output."""
    if "connection broken" in said or "Temporary failure" in said or "Max retries" in said:
        return LabError("PyPI cannot be reached, and the libraries come from there: check the"
                        " network, or set a mirror in pip's configuration")  # fmt: skip
    last = said.splitlines()[-1] if said else "pip printed nothing"
    return LabError(f"cannot install the libraries of scripts/requirements.txt: {last} (see {log})")


def main() -> int:
    """Makes the environment for scripts/setup; returns the exit status."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        make()
    except LabError as error:
        return show("setup", error)
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        print(f"setup: {error.strerror}: {error.filename or 'no file'}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
