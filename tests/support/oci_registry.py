"""A real OCI registry on loopback: docker-registry on a free port, images pushed by skopeo from a layout."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from governance.adapters.processes import free_port

PROGRAMS = ("docker-registry", "skopeo", "umoci")


def run(*command: str, cwd: Path | None = None) -> str:
    """What a program prints; its complaint is the failure of the test."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stderr.decode()}"
    return done.stdout.decode().strip()


def missing() -> list[str]:
    """The programs that are not installed: `scripts/container_tools.sh` installs them."""
    return [name for name in PROGRAMS if shutil.which(name) is None]


class OciRegistry:
    """A running registry; `store` is the folder of its blobs, `host` its address with port."""

    def __init__(self, host: str, store: Path) -> None:
        self.host, self.store = host, store

    def push(self, layout: Path, image: str, name: str, tag: str) -> str:
        """Push `image` of an OCI layout as `name:tag`, which moves when it is there; its digest."""
        target = f"docker://{self.host}/{name}:{tag}"
        run("skopeo", "copy", "--quiet", "--dest-tls-verify=false", f"oci:{layout}:{image}", target)
        return self.digest(name, tag)

    def digest(self, name: str, tag: str) -> str:
        """What a tag names now."""
        target = f"docker://{self.host}/{name}:{tag}"
        return run("skopeo", "inspect", "--tls-verify=false", "--format", "{{.Digest}}", target)

    def delete(self, name: str, digest: str) -> None:
        """Remove a manifest, as a retention policy would."""
        run("skopeo", "delete", "--tls-verify=false", f"docker://{self.host}/{name}@{digest}")


@contextmanager
def oci_registry(folder: Path) -> Iterator[OciRegistry]:
    """A registry that keeps its blobs below `folder` and ends with the block."""
    port = free_port()
    folder.mkdir(parents=True, exist_ok=True)
    settings = folder / "registry.yml"
    settings.write_text(
        f"version: 0.1\nlog: {{level: error}}\n"
        f"storage: {{filesystem: {{rootdirectory: {folder}/store}}, delete: {{enabled: true}}}}\n"
        f"http: {{addr: 127.0.0.1:{port}}}\n"
    )
    with (folder / "registry.log").open("wb") as log:
        server = subprocess.Popen(["docker-registry", "serve", str(settings)], stdout=log, stderr=log)
    try:
        for _ in range(400):
            assert server.poll() is None, (folder / "registry.log").read_text()
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield OciRegistry(f"127.0.0.1:{port}", folder / "store")
    finally:
        server.terminate()
        server.wait(10)
