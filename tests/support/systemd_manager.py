"""A real systemd manager of a user for tests, on a machine that was not started by systemd.

It runs in a mount namespace of its own, where `/run/systemd/system` says that systemd is here; nobody else
sees it. Needs root for that.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

PROGRAM = Path("/lib/systemd/systemd")
_START = """\
mkdir -p /run/systemd && mount -t tmpfs tmpfs /run/systemd && mkdir /run/systemd/system
exec /lib/systemd/systemd --user --unit=basic.target --log-level=warning
"""


@contextmanager
def user_manager(patch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of the manager's units; `systemctl --user` of this process speaks to it."""
    if not PROGRAM.exists() or shutil.which("systemctl") is None:
        pytest.skip("systemd is not installed")
    if os.geteuid() != 0:
        pytest.skip("a systemd manager of the test's own needs root")
    home = Path(tempfile.mkdtemp(prefix="tl-"))  # a socket's path may have 108 characters
    patch.setenv("HOME", str(home))
    patch.delenv("XDG_CONFIG_HOME", raising=False)
    patch.setenv("XDG_RUNTIME_DIR", str(home / "run"))
    (home / "run").mkdir(mode=0o700)
    log = home / "manager.log"
    with log.open("wb") as output:
        manager = subprocess.Popen(
            ["unshare", "--mount", "--propagation", "private", "sh", "-c", _START],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
    try:
        for _ in range(500):
            if _answers():
                break
            if manager.poll() is not None:
                pytest.skip(f"a systemd manager does not start here: {log.read_text()[-300:]}")
            time.sleep(0.02)
        yield home / ".config" / "systemd" / "user"
    finally:
        subprocess.run(["systemctl", "--user", "exit"], check=False, capture_output=True)
        try:
            manager.wait(20)
        except subprocess.TimeoutExpired:
            manager.kill()
            manager.wait()
        shutil.rmtree(home, ignore_errors=True)


def _answers() -> bool:
    done = subprocess.run(["systemctl", "--user", "show", "-p", "Version"], check=False, capture_output=True)
    return done.returncode == 0
