"""Credentials for a registry as the docker and podman clients keep them: files, and their helper programs.

- An unreadable file counts as none: the registry then says whether it needs any.
- No secret is ever part of a message or of `repr`.
"""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

HELPER_SECONDS: Final = 20.0
IDENTITY_TOKEN: Final = "<token>"  # noqa: S105  a marker, not a password
"""The user name that marks a password as an identity (refresh) token."""
HUB_KEYS: Final = ("https://index.docker.io/v1/", "index.docker.io", "docker.io")


@dataclass(frozen=True, slots=True)
class Credentials:
    """User and password, or an identity token in `password` with an empty user. `repr` shows neither."""

    user: str
    password: str

    def __repr__(self) -> str:
        return "Credentials(…)"


def credential_files(environment: Mapping[str, str] | None = None) -> Iterator[Path]:
    """Where docker and podman keep credentials, in the order they are looked at."""
    env = os.environ if environment is None else environment
    if env.get("REGISTRY_AUTH_FILE"):
        yield Path(env["REGISTRY_AUTH_FILE"])
    if env.get("XDG_RUNTIME_DIR"):
        yield Path(env["XDG_RUNTIME_DIR"]) / "containers/auth.json"
    home = Path(env.get("HOME") or "/")
    yield (Path(env["DOCKER_CONFIG"]) if env.get("DOCKER_CONFIG") else home / ".docker") / "config.json"
    yield home / ".config/containers/auth.json"


def credentials_for(host: str, name: str, files: Iterator[Path] | None = None) -> Credentials | None:
    """The credentials for repository `name` on `host`, or `None`. An unreadable file counts as none."""
    for path in credential_files() if files is None else files:
        try:
            value = json.loads(path.read_bytes())
        except (OSError, ValueError):
            continue
        if isinstance(value, dict):
            found = _from_config(value, host, name)
            if found is not None:
                return found
    return None


def _from_config(value: Mapping[str, object], host: str, name: str) -> Credentials | None:
    keys = (
        [*HUB_KEYS]
        if host == "docker.io"
        else [host, f"https://{host}", f"https://{host}/v1/", f"https://{host}/v2/"]
    )
    parts = name.split("/")
    scoped = [f"{host}/{'/'.join(parts[:n])}" for n in range(len(parts), 0, -1)]
    auths, helpers = value.get("auths"), value.get("credHelpers")
    helper = helpers.get(host) if isinstance(helpers, dict) else None
    helper = helper or value.get("credsStore")
    if isinstance(auths, dict):
        for key in [*scoped, *keys]:
            found = _entry(auths.get(key))
            if found is not None:
                return found
    return _from_helper(str(helper), keys[0]) if helper else None


def _entry(entry: object) -> Credentials | None:
    if not isinstance(entry, dict):
        return None
    if entry.get("identitytoken"):
        return Credentials(IDENTITY_TOKEN, str(entry["identitytoken"]))
    if entry.get("auth"):
        try:
            user, sign, password = base64.b64decode(str(entry["auth"])).decode().partition(":")
        except ValueError:
            return None
        return Credentials(user, password.rstrip("\0")) if sign else None
    if entry.get("username"):
        return Credentials(str(entry["username"]), str(entry.get("password", "")))
    return None


def _from_helper(helper: str, key: str) -> Credentials | None:
    import subprocess

    if not re.fullmatch(r"[A-Za-z0-9._-]+", helper):
        return None
    try:
        done = subprocess.run(
            [f"docker-credential-{helper}", "get"],
            input=key.encode(),
            capture_output=True,
            timeout=HELPER_SECONDS,
            check=False,
        )
        value = json.loads(done.stdout) if done.returncode == 0 else {}
        user, secret = str(value["Username"]), str(value["Secret"])
    except (OSError, subprocess.TimeoutExpired, ValueError, KeyError, TypeError):
        return None
    return Credentials(user, secret)
