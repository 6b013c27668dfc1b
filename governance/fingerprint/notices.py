"""What a capture can notice besides its digests: one literal table of codes TL950 to TL999.

- A capture notices what no single digest shows: two facts that contradict each other, or a fact that is
  missing.
- `notice` builds the finding; its severity comes from the table, so one code always weighs the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from governance.verdict import Finding, Severity

_ERROR: Final = Severity.ERROR
_WARNING: Final = Severity.WARNING
_NOTE: Final = Severity.NOTE


@dataclass(frozen=True, slots=True)
class Notice:
    """One thing a capture can notice: what, why it matters, how to mend it, and since which version."""

    name: str
    severity: Severity
    what: str
    why: str
    fix: str
    since: str = "0.1"


NOTICES: Final[dict[str, Notice]] = {
    "TL950": Notice(
        "package-twice",
        _ERROR,
        "One package is listed or installed twice in one place.",
        "Which of the two runs depends on the order of folders; the last line does not win.",
        "Remove one of them: reinstall the package, or delete the line.",
    ),
    "TL951": Notice(
        "package-version-unknown",
        _WARNING,
        "A package has no version: the list names a build folder or a file only.",
        "A build folder differs on every rebuild and pins nothing, so the packages layer is unknown.",
        "Capture the environment itself; its metadata holds the version.",
    ),
    "TL952": Notice(
        "package-not-pinned",
        _WARNING,
        "A package is installed from a working folder (editable).",
        "Its files change without its version changing, so the packages layer is unknown.",
        "Install a built wheel.",
    ),
    "TL953": Notice(
        "build-unknown",
        _WARNING,
        "torch has no build label and nothing tells which CUDA it was built for.",
        "The CPU build and each CUDA build have the same public version.",
        "Capture on the host, where `torch/version.py` tells.",
    ),
    "TL954": Notice(
        "cpu-build-on-gpu",
        _ERROR,
        "torch is a CPU build on a host with a GPU.",
        "The service runs on the CPU, with other kernels and other answers, and nothing fails.",
        "Install the build for the CUDA version of the engine.",
    ),
    "TL955": Notice(
        "cuda-newer-than-driver",
        _WARNING,
        "The framework was built for a newer CUDA than the driver supports.",
        "It runs in forward compatibility or fails when a kernel is first needed.",
        "Update the driver, or install a build for an older CUDA.",
    ),
    "TL956": Notice(
        "engine-version-differs",
        _ERROR,
        "The engine that runs has another version than the config or the image label declares.",
        "Tags and labels are written by people; defaults and kernels come from what is installed.",
        "Correct `engine.version`, or rebuild the image.",
    ),
    "TL957": Notice(
        "observed-differs",
        _ERROR,
        "The engine resolved a setting to another value than was declared or recorded.",
        "`auto` follows the GPU and the checkpoint; an engine may ignore what it cannot do.",
        "Declare the value, or run on the hardware it was recorded on.",
    ),
    "TL960": Notice(
        "weight-file-missing",
        _ERROR,
        "A file of the weights manifest or index is not in the folder.",
        "The engine fetches it from a moving revision, or loads what is there.",
        "Fetch the revision again.",
    ),
    "TL961": Notice(
        "weight-file-differs",
        _ERROR,
        "A file has another digest than the manifest.",
        "Other weights, tokenizer or generation config give other answers.",
        "Fetch the pinned revision again, or review the change of the manifest.",
    ),
    "TL962": Notice(
        "weight-file-unlisted",
        _WARNING,
        "A file that an engine would read is not in the manifest.",
        "An added chat template or generation config changes answers.",
        "Add it to the manifest, or remove it.",
    ),
    "TL963": Notice(
        "weight-file-is-pointer",
        _ERROR,
        "A weights file is a Git LFS pointer, not the weights.",
        "The clone did not fetch large files.",
        "git lfs pull",
    ),
    "TL964": Notice(
        "safetensors-damaged",
        _ERROR,
        "A safetensors file is cut off or its header does not fit its size.",
        "Some readers load what is there.",
        "Fetch the file again.",
    ),
    "TL965": Notice(
        "gguf-damaged",
        _ERROR,
        "A GGUF file is cut off or its header cannot be read.",
        "Some readers load what is there.",
        "Fetch the file again.",
    ),
    "TL967": Notice(
        "differs-from-hub",
        _ERROR,
        "A file of the hub cache has another digest than the hub gave it.",
        "The file was changed after it was fetched.",
        "Delete the file from the cache and fetch it again.",
    ),
    "TL968": Notice(
        "revision-moved",
        _WARNING,
        "A moving revision stands for another commit than when it was recorded.",
        "The config did not change and the weights did.",
        "Pin `model.revision` to a commit.",
    ),
    "TL969": Notice(
        "revision-gone",
        _ERROR,
        "The pinned commit can no longer be fetched from the hub.",
        "A start or a rollback on a fresh host would fail, or fall back to a moving name.",
        "Keep a copy of the files, or move to a commit that can be fetched.",
    ),
    "TL970": Notice(
        "tag-moved",
        _WARNING,
        "The tag of the image now stands for another digest than the one that is pinned.",
        "The same tag on another host is another image.",
        "Keep the digest; drop the tag or move both.",
    ),
    "TL971": Notice(
        "image-not-pinned",
        _ERROR,
        "The image is named by a tag only (no tag means `latest`).",
        "A tag can be pushed again; equal tags are not equal images.",
        "Add the digest: name:tag@sha256:...",
    ),
    "TL972": Notice(
        "image-overlaid",
        _WARNING,
        "A mount lies over files of the image, or something is installed at start.",
        "The run is not equal to its image, whatever the digest says.",
        "Build the change into the image; give mounts a digest.",
    ),
    "TL980": Notice(
        "os-packages-not-covered",
        _NOTE,
        "OS packages were not collected: there is no dpkg status here.",
        "A cuDNN or NCCL package of the operating system can move unseen.",
        "Capture inside the image.",
    ),
    "TL981": Notice(
        "secret-variable",
        _NOTE,
        "A variable whose name says secret is set. Its value was neither stored nor hashed.",
        "A fingerprint with a secret in it leaks a guess-and-check of that secret.",
        "Nothing to mend.",
    ),
    "TL982": Notice(
        "contents-not-told-apart",
        _NOTE,
        "Some packages have no RECORD: name and version are known, their files are not.",
        "Two builds of one version look the same.",
        "Install from wheels.",
    ),
}


def notice(
    code: str,
    message: str,
    *,
    path: str = "",
    line: int = 0,
    key: str = "",
    hint: str = "",
    severity: Severity | None = None,
) -> Finding:
    """The finding for `code` with this `message`; hint and severity come from the table unless given."""
    entry = NOTICES[code]
    return Finding(
        code=code,
        message=message,
        severity=entry.severity if severity is None else severity,
        path=path,
        line=line,
        key=key,
        hint=hint or entry.fix,
    )
