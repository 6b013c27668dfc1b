"""A container engine with the command line of docker and podman: images by digest, containers by label.

- The engine is asked through its own program, so its settings, its login and its remote host count.
- A program that is not installed is `MissingTool`; an engine that does not answer, or says no, is
  `Unreachable` with the last line of what it said.
- A value of an environment variable that is a secret goes through the environment of the program, never on
  its command line.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from governance.adapters import pipes
from governance.adapters.processes import masked
from governance.errors import Unreachable, Unreadable
from governance.values import Unknown

_FRACTION: Final = re.compile(r"(\.\d{1,6})\d*")
_NO_SUCH: Final = (b"no such container", b"no such object", b"no container with name or id")


@dataclass(frozen=True, slots=True)
class Container:
    """One container as the engine shows it. `digests` are those its image is known by, `name@sha256:…`.

    `argv` is the whole command, keys masked; `restarts` how often the engine has started it again.
    """

    id: str
    name: str
    running: bool
    started_at: float | Unknown
    labels: Mapping[str, str]
    digests: tuple[str, ...]
    argv: tuple[str, ...]
    restarts: int
    pid: int


class Engine:
    """A container engine; `words` are its program with global options."""

    def __init__(self, words: Sequence[str], environ: Mapping[str, str] | None = None) -> None:
        self.words = tuple(words)
        self._environ = os.environ if environ is None else environ

    def pull(self, image: str, *options: str) -> None:
        """Fetch `image`. Raises `Unreachable` when the registry does not give it."""
        self.call("pull", "--quiet", *options, image)

    def has(self, image: str) -> bool:
        """Whether `image` is here already."""
        status, _, said = self._ask("image", "inspect", image)
        if status and b"connect" in said.lower():
            raise self._failed("image", said)
        return status == 0

    def create(
        self,
        name: str,
        image: str,
        *,
        options: Sequence[str],
        argv: Sequence[str],
        secrets: Mapping[str, str],
    ) -> None:
        """A container that does not run yet. `secrets` are the variables that `options` only name."""
        self.call("create", "--name", name, *options, image, *argv, environment=secrets)

    def labelled(self, label: str) -> tuple[Container, ...]:
        """The containers with this label (`key=value`), running or not, sorted by name."""
        listed = self.call("ps", "--all", "--no-trunc", "--filter", f"label={label}", "--format", "{{.ID}}")
        found = [self.find(word) for word in listed.decode().split()]
        return tuple(sorted((one for one in found if one is not None), key=lambda one: one.name))

    def find(self, name: str) -> Container | None:
        """The container of this name or id; None when there is none."""
        status, out, said = self._ask("container", "inspect", name)
        if status:
            if any(words in said.lower() for words in _NO_SUCH):
                return None
            raise self._failed("container inspect", said)
        try:
            (tree,) = json.loads(out)
            return _container(tree, self._digests(tree))
        except (ValueError, KeyError, TypeError, AttributeError) as err:
            raise Unreadable(f"`{self.words[0]} inspect` says something unexpected: {err}") from err

    def start(self, name: str) -> None:
        """Start a container that was created."""
        self.call("start", name)

    def stop(self, name: str, *, grace: float) -> None:
        """Ask a container to end, and kill it after `grace` seconds."""
        self.call("stop", "-t", str(round(grace)), name)

    def remove(self, name: str) -> None:
        """Remove a container, running or not, with its unnamed volumes."""
        self.call("rm", "--force", "--volumes", name)

    def rename(self, name: str, to: str) -> None:
        """Give a container another name."""
        self.call("rename", name, to)

    def logs(self, name: str, *, lines: int) -> str:
        """The last lines a container wrote; empty when there is none to be had."""
        status, out, err = self._ask("logs", "--tail", str(lines), name)
        return "" if status else (out + err).decode("utf-8", "replace").strip()

    def call(self, *args: str, given: bytes = b"", environment: Mapping[str, str] | None = None) -> bytes:
        """What the program prints. Raises `Unreachable` with its last line when it fails."""
        status, out, err = self._ask(*args, given=given, environment=environment)
        if status:
            raise self._failed(args[0], err)
        return out

    def line(self, *args: str) -> str:
        """A call as one line for a shell."""
        return shlex.join([*self.words, *args])

    def _ask(
        self, *args: str, given: bytes = b"", environment: Mapping[str, str] | None = None
    ) -> tuple[int, bytes, bytes]:
        return pipes.call(
            [*self.words, *args], environment={**self._environ, **(environment or {})}, given=given
        )

    def _digests(self, tree: Mapping[str, Any]) -> tuple[str, ...]:
        """What the image of a container is known by. podman names the digest beside; docker does not."""
        status, out, _ = self._ask("image", "inspect", str(tree["Image"]))
        images = json.loads(out) if status == 0 else []
        known = [name for image in images for name in image.get("RepoDigests") or ()]
        own = tree.get("ImageDigest") or ""
        return tuple(dict.fromkeys([*known, *([f"@{own}"] if own else [])]))

    def _failed(self, verb: str, said: bytes) -> Unreachable:
        lines = [line.strip() for line in said.decode("utf-8", "replace").splitlines() if line.strip()]
        told = lines[-1] if lines else "it says nothing"
        name = self.words[0].rpartition("/")[2]
        return Unreachable(f"`{name} {verb}` failed: {told.removeprefix('Error: ')}")


def _container(tree: Mapping[str, Any], digests: tuple[str, ...]) -> Container:
    state, config = tree["State"], tree["Config"]
    command = [str(tree.get("Path") or ""), *map(str, tree.get("Args") or ())]
    return Container(
        id=str(tree["Id"]),
        name=str(tree["Name"]).removeprefix("/"),
        running=bool(state["Running"]),
        started_at=_moment(str(state.get("StartedAt") or "")),
        labels={str(name): str(value) for name, value in (config.get("Labels") or {}).items()},
        digests=digests,
        argv=tuple(masked([word for word in command if word])),
        restarts=int(tree.get("RestartCount") or 0),
        pid=int(state.get("Pid") or 0),
    )


def _moment(text: str) -> float | Unknown:
    """Seconds since the epoch; engines write nanoseconds, and the year 1 for never."""
    try:
        found = datetime.fromisoformat(_FRACTION.sub(r"\1", text))
        if found.year > 1 and found.tzinfo is not None:
            return found.timestamp()
    except ValueError:
        pass
    return Unknown("the container engine does not say when it was started")
