"""Launch commands as people write them: shell lines, `bash -c` wrappers, `docker run`, shell scripts.

- Nothing is executed: `$NAME` becomes the value that the same source sets for it, or stays as it is.
- A wrapper (`bash -c "pip install x && exec vllm serve …"`) is opened: what it installs is kept, since it
  changes the image at start, and the server is the last command that names an engine.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from governance.engines.sources.model import Mount

_SHELLS: Final = ("sh", "bash", "ash", "dash", "zsh")
_SEPARATORS: Final = frozenset(("&&", "||", ";", "|", "&", "\n"))
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_INSTALL: Final = re.compile(
    r"(?:\S*/)?(?:pip3?|uv|conda|mamba|apt|apt-get|apk|yum|dnf|npm|python3? -m pip)\b"
    r".*\b(?:install|add|sync)\b"
)
_REFERENCE: Final = re.compile(r"\$\((\w+)\)|\$\{(\w+)(?::?-([^}]*))?\}|\$(\w+)")
# docker run flags that take a value; what is not here and not --flag=value is a switch.
_DOCKER_VALUES: Final = frozenset(
    """
    -e --env -v --volume -p --publish --name --gpus --mount --entrypoint --shm-size --ulimit --network --net
    --ipc -u --user -w --workdir --env-file --memory -m --cpus --device --runtime --restart -l --label
    --hostname -h --add-host --platform --pull --cpuset-cpus --security-opt --cap-add --log-opt --log-driver
    --pid --group-add --tmpfs --stop-timeout
    """.split()
)
# Commands of a start script that start no server.
_HELPERS: Final = frozenset(
    ("set", "cd", "echo", "mkdir", "ulimit", "trap", "wait", "true", "shift", "source", ".", "sleep")
)


@dataclass(frozen=True, slots=True)
class Command:
    """One launch: arguments with the program first, and everything around it that shapes the server."""

    argv: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    installs: tuple[str, ...] = ()
    image: str = ""
    mounts: tuple[Mount, ...] = ()
    gpus: str = ""
    entrypoint: tuple[str, ...] = ()


def expand(text: str, variables: Mapping[str, str]) -> str:
    """`text` with `$(NAME)`, `${NAME}`, `${NAME:-default}` and `$NAME` replaced where the value is known."""

    def value(match: re.Match[str]) -> str:
        name = match[1] or match[2] or match[4]
        if name in variables:
            return variables[name]
        return match[3] if match[3] is not None else match[0]

    return _REFERENCE.sub(value, text)


def references(text: str) -> tuple[str, ...]:
    """The names of the variables `text` refers to."""
    return tuple(m[1] or m[2] or m[4] for m in _REFERENCE.finditer(text))


def split_script(text: str) -> list[list[str]]:
    """The simple commands of a shell script as word lists; comments and line continuations are removed."""
    joined = re.sub(r"\\\r?\n", " ", text)
    lexer = shlex.shlex(joined, posix=True, punctuation_chars=";&|\n")
    lexer.whitespace = " \t\r"
    lexer.whitespace_split = True
    lexer.commenters = "#"
    commands: list[list[str]] = [[]]
    for token in lexer:
        if token in _SEPARATORS or set(token) <= set(";&|\n"):
            commands.append([])
        else:
            commands[-1].append(token)
    return [command for command in commands if command]


def read_command(words: Sequence[str], variables: Mapping[str, str]) -> Command:
    """The launch in `words`, wrappers opened; `variables` are values the source sets beside it."""
    environment, rest = _leading_assignments([expand(word, variables) for word in words])
    if not rest:
        return Command(environment=environment)
    program = rest[0].rsplit("/", 1)[-1]
    if program in ("exec", "nohup", "time", "sudo", "env"):
        return _merged(environment, read_command(rest[1:], variables))
    if program in _SHELLS:
        script = _shell_script(rest)
        if script is not None:
            return _merged(environment, read_script(script, {**variables, **environment}))
    if program in ("docker", "podman", "nerdctl") and "run" in rest[1:3]:
        return _merged(environment, _docker_run(rest[rest.index("run") + 1 :], variables))
    return Command(argv=tuple(rest), environment=environment)


def read_script(text: str, variables: Mapping[str, str]) -> Command:
    """The server a script ends in: the last command that is neither an assignment nor an install."""
    known = dict(variables)
    installs: list[str] = []
    found = Command()
    for words in split_script(text):
        line = shlex.join(words)
        body = words[1:] if words[0] == "export" else words
        assigned, rest = _leading_assignments([expand(word, known) for word in body])
        if not rest:
            known.update(assigned)
            found = _merged(found.environment, replace(found, environment=_exported(words, assigned)))
        elif _INSTALL.match(line):
            installs.append(line)
        elif rest[0] not in _HELPERS:
            found = _merged(found.environment, read_command(body, known))
    return replace(found, installs=(*installs, *found.installs))


def _exported(words: Sequence[str], assigned: dict[str, str]) -> dict[str, str]:
    return assigned if words[0] == "export" else {}


def _shell_script(words: Sequence[str]) -> str | None:
    """The text after `-c` (also in `-lc`, `-euxc`), or None."""
    for index, word in enumerate(words[1:], 1):
        if (
            word.startswith("-")
            and not word.startswith("--")
            and word.endswith("c")
            and index + 1 < len(words)
        ):
            return words[index + 1]
        if not word.startswith("-"):
            return None
    return None


def _leading_assignments(words: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    environment: dict[str, str] = {}
    for index, word in enumerate(words):
        if not _ASSIGNMENT.match(word):
            return environment, list(words[index:])
        name, _, value = word.partition("=")
        environment[name] = value
    return environment, []


def _merged(environment: Mapping[str, str], command: Command) -> Command:
    return replace(command, environment={**environment, **command.environment})


def _docker_run(words: Sequence[str], variables: Mapping[str, str]) -> Command:
    environment: dict[str, str] = {}
    mounts: list[Mount] = []
    gpus, entrypoint = "", ""
    index = 0
    while index < len(words) and words[index].startswith("-"):
        flag, equals, value = words[index].partition("=")
        index += 1
        if not equals and flag in _DOCKER_VALUES and index < len(words):
            value = words[index]
            index += 1
        if flag in ("-e", "--env"):
            name, has_value, text = value.partition("=")
            environment[name] = text if has_value else f"env:{name}"
        elif flag in ("-v", "--volume", "--mount"):
            mounts.extend(read_mount(value))
        elif flag == "--gpus":
            gpus = value
        elif flag == "--entrypoint":
            entrypoint = value
    image, rest = (words[index], words[index + 1 :]) if index < len(words) else ("", [])
    inner = read_command([*([entrypoint] if entrypoint else []), *rest], {**variables, **environment})
    return replace(
        inner,
        environment={**environment, **inner.environment},
        image=image,
        mounts=tuple(mounts),
        gpus=gpus,
        entrypoint=(entrypoint,) if entrypoint else (),
    )


def read_mount(text: str) -> list[Mount]:
    """`source:target[:ro]` or `type=bind,source=…,target=…` as mounts; an anonymous volume is none."""
    if "=" in text.split(",")[0]:
        fields = dict(part.partition("=")[::2] for part in text.split(","))
        source = fields.get("source") or fields.get("src", "")
        target = fields.get("target") or fields.get("dst") or fields.get("destination", "")
        return [Mount(source, target, "readonly" in fields or fields.get("ro") == "true")] if source else []
    # A default (`${DIR:-./x}`) and a Windows drive hold colons that separate nothing.
    parts = re.split(r":(?![-?+=])(?![\\/]{1}[^/:]*\\)", text)
    if len(parts) < 2:
        return []
    return [Mount(parts[0], parts[1], "ro" in (parts[2].split(",") if len(parts) > 2 else []))]
