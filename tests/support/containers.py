"""Real containers for tests: podman with runc and storage of its own, and images made without a daemon.

- Images are OCI layouts made by umoci in `.cache/images`, kept between runs: a tiny one of busybox that says
  it is healthy, and one of the real llama-server with real weights (180 MB).
- Each image has a second version, `b`, whose files differ: what a moved tag would bring.
- podman's own settings do not start containers without systemd and with few rights: runc, host network and
  explicit limits do.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from governance.adapters.demo_engine import DemoEngine
from tests.support.oci_registry import OciRegistry, missing, oci_registry, run

_FOLDER = Path(__file__).resolve().parents[2] / ".cache"
CACHE = _FOLDER / "images"
COMPOSE = _FOLDER / "compose" / "bin" / "podman-compose"
PROGRAMS = ("podman", "runc", "busybox")
_ADMIN = ":/usr/sbin:/sbin"
_ENGINE = """\
#!/bin/sh
# Says it is healthy on the port it is given, and what it was started with.
port=8080; all="$*"
while [ $# -gt 0 ]; do [ "$1" = --port ] && port=$2; shift; done
mkdir -p /www && echo ok > /www/health && echo "$all" > /www/started && env > /www/variables
[ "$FAIL" = 1 ] && { echo "no such weights"; exit 3; }
busybox httpd -f -p "$port" -h /www &
trap "kill $!; exit 0" TERM
wait
"""
_CONF = """\
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]
netns = "host"
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
"""


@dataclass(frozen=True)
class ContainerTools:
    """A running registry and a podman that may pull from it; `podman` is a program."""

    registry: OciRegistry
    podman: Path

    def push(self, layout: Path, image: str, name: str, tag: str = "stable") -> str:
        """Push an image and move the tag to it; its reference by digest."""
        digest = self.registry.push(layout, image, name, tag)
        return f"{self.registry.host}/{name}@{digest}"

    def call(self, *words: str) -> str:
        """What podman prints."""
        return run(str(self.podman), *words)


@contextmanager
def container_tools(folder: Path) -> Iterator[ContainerTools]:
    """Both, for the length of a block."""
    skip_without_tools()
    with oci_registry(folder / "registry") as registry, podman(folder / "podman") as program:
        yield ContainerTools(registry, program)


def skip_without_tools() -> None:
    """Skip, with the reason, where real containers cannot be had."""
    names = [*missing(), *(p for p in PROGRAMS if not shutil.which(p, path=_path()))]
    if names:
        pytest.skip(f"no {', '.join(names)}: run scripts/container_tools.sh")
    if os.geteuid() != 0:
        pytest.skip("containers of these tests need root")


def tiny_image() -> Path:
    """The layout of the tiny image, `a` and `b`; its program is /bin/engine."""
    busybox = shutil.which("busybox")
    assert busybox is not None
    key = _key(_ENGINE.encode(), Path(busybox).read_bytes())

    def fill(root: Path) -> None:
        (root / "bin").mkdir(parents=True, exist_ok=True)
        shutil.copy2(busybox, root / "bin" / "busybox")
        for name in ("sh", "env", "sleep", "echo", "mkdir", "cat"):
            (root / "bin" / name).symlink_to("busybox")
        (root / "bin" / "engine").write_text(_ENGINE)
        (root / "bin" / "engine").chmod(0o755)

    return _layout(f"tiny-{key}", fill)


def engine_image(engine: DemoEngine) -> Path:
    """The layout of the llama-server image; /bin/llama-server and /models hold the engine and its weights."""
    libraries = sorted(set(re.findall(r"(/\S+) \(0x", run("ldd", str(engine.binary)))))
    names = [str(engine.binary), str(engine.weights), *libraries]
    key = _key(
        b"2",
        *(f"{name} {Path(name).stat().st_size} {Path(name).stat().st_mtime_ns}".encode() for name in names),
    )

    def fill(root: Path) -> None:
        for folder in ("bin", "models", "tmp"):
            (root / folder).mkdir(parents=True, exist_ok=True)
        shutil.copy2(engine.binary, root / "bin" / "llama-server")
        shutil.copy2(engine.weights, root / "models" / engine.weights.name)
        for library in libraries:
            # The server finds its own libraries beside itself, the loader the others where they are here.
            own = Path(library).parent == engine.binary.parent
            place = root / "bin" / Path(library).name if own else root / library[1:]
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(library, place)

    return _layout(f"engine-{key}", fill)


@contextmanager
def podman(folder: Path) -> Iterator[Path]:
    """A podman of the test's own, as a program that takes podman's command line; all of it is gone after."""
    folder.mkdir(parents=True, exist_ok=True)
    short = Path(tempfile.mkdtemp(prefix="tl-"))  # podman refuses a path of more than 50 characters for it
    (folder / "containers.conf").write_text(_CONF)
    (folder / "registries.conf").write_text('[[registry]]\nlocation = "127.0.0.1"\ninsecure = true\n')
    (folder / "policy.json").write_text('{"default": [{"type": "insecureAcceptAnything"}]}')
    program = folder / "podman"
    program.write_text(
        "#!/bin/sh\n"
        f"export CONTAINERS_CONF={folder}/containers.conf\n"
        f"export CONTAINERS_REGISTRIES_CONF={folder}/registries.conf\n"
        f'export PATH="$PATH{_ADMIN}"\n'
        f'exec podman --root {folder}/root --runroot {short} "$@"\n'
    )
    program.chmod(0o755)
    try:
        yield program
    finally:
        subprocess.run([program, "rm", "--all", "--force", "-t", "1"], check=False, capture_output=True)
        subprocess.run(["umount", str(folder / "root" / "overlay")], check=False, capture_output=True)
        shutil.rmtree(folder / "root", ignore_errors=True)
        shutil.rmtree(short, ignore_errors=True)


def _path() -> str:
    return os.environ.get("PATH", "") + _ADMIN


def _key(*parts: bytes) -> str:
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:12]


def _layout(name: str, fill: Callable[[Path], None]) -> Path:
    """The layout called `name`, made once; other test processes wait for it."""
    CACHE.mkdir(parents=True, exist_ok=True)
    layout = CACHE / name
    with (CACHE / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (layout / "index.json").exists():
            return layout
        for old in CACHE.glob(f"{name.partition('-')[0]}-*"):
            shutil.rmtree(old)
        making = CACHE / f".{name}"
        shutil.rmtree(making, ignore_errors=True)
        making.mkdir()
        _make(making, fill)
        (making / "layout").rename(layout)
        shutil.rmtree(making)
    return layout


def _make(folder: Path, fill: Callable[[Path], None]) -> None:
    run("umoci", "init", "--layout", "layout", cwd=folder)
    run("umoci", "new", "--image", "layout:a", cwd=folder)
    run("umoci", "unpack", "--image", "layout:a", "one", cwd=folder)
    fill(folder / "one" / "rootfs")
    run("umoci", "repack", "--image", "layout:a", "one", cwd=folder)
    run("umoci", "unpack", "--image", "layout:a", "two", cwd=folder)
    (folder / "two" / "rootfs" / "version").write_text("b\n")
    run("umoci", "repack", "--image", "layout:b", "two", cwd=folder)
