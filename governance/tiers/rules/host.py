"""Base tier, the host: an image is what a digest names, and nothing may be laid over it unseen."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from governance.tiers.rules.model import (
    ERROR,
    WARNING,
    Context,
    Hit,
    Rule,
    listed,
    mappings,
    section,
    text_at,
    texts,
)
from governance.values import KeyPath

_DIGEST: Final = re.compile(r"(?:sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})\Z")
_CODE: Final = re.compile(
    r"site-packages|dist-packages|\.(?:py|so|pyc|cu|whl)(?:\.\d+)*$|^/(?:usr|lib|lib64|bin|sbin|opt|app"
    r"|src|workspace)(?:/|$)"
    r"|^/sgl-workspace|^/vllm-workspace|^/$|/python3"
)
_DATA: Final = re.compile(
    r"(?i)(?:^|/)(?:models?|weights?|data|datasets?|checkpoints?|cache|\.cache|huggingface|hub|tmp|shm|run"
    r"|logs?|mnt"
    r"|adapters?|loras?|\.ollama)(?:/|$)"
)
_INSTALL: Final = re.compile(
    r"\b(?:pip3?|uv(?: pip)?|conda|mamba|micromamba|apt|apt-get|dnf|yum|apk|npm)\s+(?:-\S+\s+)*"
    r"(?:install|add)\b(?P<what>[^;&|]*)"
)
_FETCH: Final = re.compile(r"\b(?:curl|wget)\b[^;&]*\|\s*(?:ba|z)?sh\b|\bgit\s+clone\b")
_PINNED: Final = re.compile(
    r"[=]==?[^*\s]+\Z|@[0-9a-f]{40}\Z|#sha256=[0-9a-f]{64}\Z|--hash=|^[a-z0-9.+-]+=[0-9][^*\s]*\Z"
)
_TAG_VERSION: Final = re.compile(r"v?(\d+(?:\.\d+){1,3}(?:\.?post\d+|rc\d+)?)")
_ACCELERATED: Final = frozenset({"cuda", "rocm", "xpu", "hpu", "npu"})


def _split(reference: str) -> tuple[str, str, str]:
    """An image reference as repository, tag and digest; tag and digest may be empty."""
    name, _, digest = reference.partition("@")
    head, slash, last = name.rpartition("/")
    last, _, tag = last.partition(":")
    return head + slash + last, tag, digest


def _image(context: Context) -> Iterator[Hit]:
    reference = text_at(context.tree, "image", "ref")
    name, tag, digest = _split(reference)
    at: KeyPath = ("image", "ref")
    if digest:
        if not _DIGEST.match(digest):
            yield Hit(f"`{digest}` is no digest: it is sha256: and 64 hexadecimal digits", at)
    elif reference:
        reason = f"tag `{tag}` can be pushed again" if tag else "no tag means `latest`"
        yield Hit(
            f"the image is not pinned: {reason}",
            at,
            f"write {name}@sha256:… (docker buildx imagetools inspect shows it)",
        )


def _software(context: Context) -> Iterator[Hit]:
    if "image" not in context.tree and "packages" not in section(context.tree, "environment"):
        yield Hit(
            "neither `image` nor `environment.packages` says which software runs",
            ("engine", "name"),
            "name the image by digest, or keep a lock file: `environment: {packages: requirements.lock}`",
        )


def _over_code(context: Context) -> Iterator[Hit]:
    for index, mount in mappings(section(context.tree, "image").get("mounts")):
        target = text_at(mount, "target")
        if "digest" not in mount and _CODE.search(target):
            yield Hit(
                f"`{target}` lies over the image's own code and has no digest",
                ("image", "mounts", index, "target"),
                "build the file into the image, or add the mount's `digest`",
            )


def _mount(context: Context) -> Iterator[Hit]:
    for index, mount in mappings(section(context.tree, "image").get("mounts")):
        target = text_at(mount, "target")
        if "digest" not in mount and not _CODE.search(target) and not _DATA.search(target):
            yield Hit(
                f"what is mounted at `{target}` is in no fingerprint",
                ("image", "mounts", index, "target"),
                "add the mount's `digest`",
            )


def _unpinned(words: list[str]) -> list[str]:
    return [word for word in words if not word.startswith(("-", "$", "<", ">")) and not _PINNED.search(word)]


def _install(context: Context) -> Iterator[Hit]:
    image = section(context.tree, "image")
    for index, item in enumerate(texts(image.get("install_at_start"))):
        command = _INSTALL.search(item)
        words = (command["what"] if command else item).split()
        yield from _installs(words, ("image", "install_at_start", index))
    for index, item in enumerate(texts(image.get("entrypoint"))):
        for match in _INSTALL.finditer(item):
            yield from _installs(match["what"].split(), ("image", "entrypoint", index))
        if _FETCH.search(item):
            yield Hit("code is fetched from the network at start", ("image", "entrypoint", index))


def _installs(words: list[str], key: KeyPath) -> Iterator[Hit]:
    free = _unpinned([word.strip("'\"") for word in words])
    if free:
        verb = "is" if len(free) == 1 else "are"
        yield Hit(
            f"{listed(free)} {verb} installed at start in whatever version there is that day",
            key,
            "build the packages into the image",
        )
    elif words:
        yield Hit(
            "packages are installed at start: the image's digest no longer says what runs",
            key,
            severity=WARNING,
        )


def _hardware(context: Context) -> Iterator[Hit]:
    if "hardware" not in context.tree:
        yield Hit(
            "nothing says which hardware the values were accepted on",
            ("engine", "name"),
            "add `hardware: {device: cuda, gpu: …, count: …}`",
        )


def _hardware_incomplete(context: Context) -> Iterator[Hit]:
    hardware = section(context.tree, "hardware")
    device = hardware.get("device")
    if device in _ACCELERATED and "gpu" not in hardware:
        yield Hit(f"`device: {device}` without the model of the `gpu`", ("hardware", "device"))
    elif "device" not in hardware and "gpu" not in hardware:
        yield Hit("`hardware` names neither `device` nor `gpu`", ("hardware",), on_key=True)


def _tag(context: Context) -> Iterator[Hit]:
    name, tag, _ = _split(text_at(context.tree, "image", "ref"))
    if not tag:
        return
    engine, version = context.engine, text_at(context.tree, "engine", "version")
    found = _TAG_VERSION.match(tag)
    own = engine.replace(".", "").replace("-", "") in name.rsplit("/", 1)[-1].lower().replace(
        "-", ""
    ).replace(".", "")
    if found and own and version[:1].isdigit() and found[1] != version.partition("+")[0]:
        yield Hit(
            f"the image is tagged `{tag}` and `engine.version` is `{version}`",
            ("image", "ref"),
            "ask the running server which one is right: tierlock capture",
        )


RULES: Final[tuple[Rule, ...]] = (
    Rule(
        "TL250", "image-not-pinned", ERROR, ("base",),
        what="The image reference has no digest, or one that cannot be a digest.",
        why="A tag is pushed again with other contents; no tag means `latest`. Rolling back to a tag starts "
        "today's "
        "image with yesterday's files.",
        fix="Write `name@sha256:<64 hexadecimal digits>`; a tag may stand before the `@` for people.",
        check=_image, needs="image",
    ),
    Rule(
        "TL251", "software-not-named", WARNING, ("base",),
        what="Neither an image nor a lock file of packages is named.",
        why="A kernel library decides the rounding of every token; without a name for it an upgrade is "
        "invisible.",
        fix="Add `image.ref` with a digest, or `environment.packages` with a lock file.",
        check=_software,
    ),
    Rule(
        "TL252", "mount-over-code", ERROR, ("base",),
        what="A mount without a digest lies over code of the image.",
        why="The image digest stays equal while the code that runs is another.",
        fix="Build the file into the image, or write the mount's `digest`.",
        check=_over_code, needs="image.mounts",
    ),
    Rule(
        "TL253", "mount-without-digest", WARNING, ("base",),
        what="A file or folder that is no data folder is mounted without a digest.",
        why="Templates and settings that come in by a mount shape answers and are in no fingerprint.",
        fix="Write the mount's `digest`.",
        check=_mount, needs="image.mounts",
    ),
    Rule(
        "TL254", "install-at-start", ERROR, ("base",),
        what="Packages are installed, or code is fetched, when the container starts. It is a warning when "
        "every "
        "package has an exact version.",
        why="The same digest runs other software on Monday and on Friday.",
        fix="Build the packages into the image.",
        check=_install, needs="image",
    ),
    Rule(
        "TL255", "hardware-missing", WARNING, ("base",),
        what="The config names no hardware.",
        why="Kernels, `auto` values and rounding depend on the device: on another one the golden answers "
        "are not due.",
        fix="Add `hardware` with `device`, `gpu` and `count`.",
        check=_hardware,
    ),
    Rule(
        "TL256", "hardware-incomplete", WARNING, ("base",),
        what="The hardware does not name the model of the accelerator.",
        why="Two GPU models of one kind run other kernels.",
        fix="Add `hardware.gpu` as nvidia-smi names it.",
        check=_hardware_incomplete, needs="hardware",
    ),
    Rule(
        "TL257", "image-tag-contradicts-engine", WARNING, ("base",),
        what="The tag of the engine's image names another version than `engine.version`.",
        why="Defaults are resolved for the version in the config; one of the two is wrong.",
        fix="Make them agree; the server's own answer counts.",
        check=_tag, needs="image",
    ),
)  # fmt: skip
