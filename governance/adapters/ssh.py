"""Signing and verifying with ssh-keygen, and which keys an agent holds.

- `ssh-keygen -Y sign` does the signing, so keys in an agent, with a passphrase and on hardware (`sk-`) work
  as they do for git. What it says meanwhile ("confirm user presence") is passed on as it comes.
- Files for one call lie in a folder of mode 0700 that is gone afterwards; no private key is ever read here.
- A missing or too old ssh-keygen is `MissingTool`: what was to be verified is then unknown, not wrong.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, NoReturn

from governance.adapters import sshsig
from governance.errors import MissingTool, Unreadable, Usage

NAMESPACE: Final = "tierlock"
_PRINCIPAL: Final = "approver"
_PROGRAM: Final = "ssh-keygen"
_TOO_OLD: Final = (b"unknown option", b"illegal option", b"usage:")
_HINT: Final = "install OpenSSH 8.2 or later (ssh-keygen -Y) and call again"


def sign(
    data: bytes,
    key: str,
    namespace: str = NAMESPACE,
    *,
    tell: Callable[[str], None] = lambda _: None,
    environ: Mapping[str, str] | None = None,
) -> str:
    """The armoured signature of `data` by `key`: a path to a private or public key, or a public key as text.

    A public key is signed for by the agent. `tell` gets what ssh-keygen says while it works. Raises
    `MissingTool`, or `Unreadable` when ssh-keygen does not sign.
    """
    words = sshsig.key_words(key)
    with tempfile.TemporaryDirectory(prefix="tierlock-") as folder:
        path, argv = key, [_PROGRAM, "-Y", "sign", "-n", namespace]
        if words is not None:
            path = _written(folder, "key.pub", words + "\n")
            argv.append("-U")
        elif not Path(key).is_file():
            raise Unreadable(
                f"there is no key `{key}`", hint="name one with --key, or: ssh-keygen -t ed25519"
            )
        message = _written(folder, "statement", data)
        status, said = _run([*argv, "-f", path, message], tell, environ)
        made = Path(f"{message}.sig")
        if status != 0 or not made.is_file():
            _refuse(key if words is None else sshsig.fingerprint_of_blob(sshsig.key_blob(key) or b""), said)
        return made.read_text("ascii")


def verify(data: bytes, signature: str, public_key: str, namespace: str = NAMESPACE) -> bool:
    """Whether `signature` is one of `data` by `public_key` in `namespace`, in the form ssh-keygen writes.

    Raises `MissingTool` when that cannot be asked.
    """
    parts, words = sshsig.parse(signature), sshsig.key_words(public_key)
    if parts is None or words is None:
        return False
    if parts.namespace != namespace or parts.blob != sshsig.key_blob(public_key):
        return False
    with tempfile.TemporaryDirectory(prefix="tierlock-") as folder:
        signers = _written(folder, "signers", f'{_PRINCIPAL} namespaces="{namespace}" {words}\n')
        made = _written(folder, "signature", signature)
        argv = (_PROGRAM, "-Y", "verify", "-f", signers, "-I", _PRINCIPAL, "-n", namespace, "-s", made)
        status, _, said = _call(argv, given=data)
    if status != 0 and any(sign in said for sign in _TOO_OLD):
        raise MissingTool(f"this `{_PROGRAM}` cannot verify signatures", hint=_HINT)
    return status == 0


def public_key_of(key: str, environ: Mapping[str, str] | None = None) -> str:
    """The `.pub` line that belongs to `key`: a path to a private or public key, or such a line.

    A private key without its `.pub` is asked for it, which may need its passphrase. Raises `Unreadable`.
    """
    if sshsig.key_words(key) is not None:
        return key.strip()
    path = Path(key).expanduser()
    for candidate in (path, path.with_name(path.name + ".pub")):
        try:
            text = candidate.read_bytes()[:16384].decode("ascii", "replace").strip()
        except OSError:
            continue
        if sshsig.key_words(text) is not None:
            return text
    if not path.is_file():
        raise _no_key(key)
    status, out, said = _call((_PROGRAM, "-y", "-f", os.fspath(path)), environ=environ)
    text = out.decode("ascii", "replace").strip()
    if status != 0 or sshsig.key_words(text) is None:
        why = _last_line(said) or "it is no SSH key"
        raise Unreadable(
            f"`{key}` has no public key that can be read: {why}", hint=f"keep {key}.pub beside it"
        )
    return text


def agent_keys(environ: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """The public keys that the agent holds; none without an agent."""
    if not (os.environ if environ is None else environ).get("SSH_AUTH_SOCK"):
        return ()
    try:
        status, out, _ = _call(("ssh-add", "-L"), environ=environ)
    except MissingTool:
        return ()
    lines = out.decode("utf-8", "replace").splitlines() if status == 0 else []
    return tuple(line for line in lines if sshsig.key_words(line) is not None)


def fingerprint(public_key: str) -> str:
    """`SHA256:…` of a `.pub` line. Raises `Usage` when it is none."""
    blob = sshsig.key_blob(public_key)
    if blob is None:
        raise Usage(f"`{public_key[:40]}` is no SSH public key", hint="give one line of a .pub file")
    return sshsig.fingerprint_of_blob(blob)


def _run(
    argv: Sequence[str], tell: Callable[[str], None], environ: Mapping[str, str] | None
) -> tuple[int, str]:
    """Exit status and messages of a program that may ask on the terminal; each line is told as it comes."""
    try:
        child = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            env=_environment(environ), text=True, errors="replace",
        )  # fmt: skip
    except FileNotFoundError as err:
        raise _missing(argv[0]) from err
    lines = []
    with child:
        assert child.stderr is not None
        for line in child.stderr:
            if not line.startswith(("Signing file", "Write signature")):
                lines.append(line.strip())
                tell(line.strip())
    return child.returncode, "\n".join(lines)


def _call(
    argv: Sequence[str], *, given: bytes = b"", environ: Mapping[str, str] | None = None
) -> tuple[int, bytes, bytes]:
    from governance.adapters.pipes import call

    try:
        return call(argv, environment=_environment(environ), given=given)
    except MissingTool as err:
        raise _missing(argv[0]) from err


def _environment(environ: Mapping[str, str] | None) -> dict[str, str]:
    return {**(os.environ if environ is None else environ), "LC_ALL": "C"}


def _written(folder: str, name: str, content: str | bytes) -> str:
    path = Path(folder) / name
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as out:
        out.write(content if isinstance(content, bytes) else content.encode())
    return os.fspath(path)


def _no_key(key: str) -> Unreadable:
    return Unreadable(f"there is no key `{key}`", hint="name one with --key, or: ssh-keygen -t ed25519")


def _refuse(key: str, said: str) -> NoReturn:
    if any(sign in said.encode().lower() for sign in _TOO_OLD):
        raise MissingTool(f"this `{_PROGRAM}` cannot sign", hint=_HINT)
    why = _last_line(said.encode()) or "it gave no reason"
    raise Unreadable(
        f"`{_PROGRAM}` did not sign with `{key}`: {why}",
        hint="is the key in the agent (ssh-add -L), and its device plugged in?",
    )


def _last_line(said: bytes) -> str:
    lines = said.decode("utf-8", "replace").strip().splitlines()
    return lines[-1].strip() if lines else ""


def _missing(program: str) -> MissingTool:
    return MissingTool(f"`{program}` is not installed or not on PATH", hint=_HINT)
