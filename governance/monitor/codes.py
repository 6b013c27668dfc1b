"""What the monitor can find, by code (TL8xx): TL801-TL819 the start-up gate.

- Codes are for ever: a code is never given another meaning, a retired one is never reused.
"""

from __future__ import annotations

from typing import Final

from governance.tiers.reader_codes import CodeDoc

CODES: Final[dict[str, CodeDoc]] = {
    "TL801": CodeDoc(
        "config-not-released",
        "The base, sampling or prompts config on this host is not the one of the release.",
        "The server would be started from files that nobody released.",
        "Check out the commit of the release, or release what is here.",
    ),
    "TL802": CodeDoc(
        "launch-not-declared",
        "An argument after `--`, or a variable of this shell, moves a value that shapes answers.",
        "It is in no config, so no review and no fingerprint sees it.",
        "Leave it out, or declare it in the base config and release that.",
    ),
    "TL803": CodeDoc(
        "weights-differ",
        "A file of the weights on this host is missing or has another digest than the release says.",
        "Other weights give other answers, under the same name.",
        "Fetch the files of `model.revision` again; `tierlock capture --weights` shows what is here.",
    ),
    "TL804": CodeDoc(
        "packages-differ",
        "The serving interpreter, or the program and its libraries, are not what the release was made with.",
        "Kernels, samplers and engine defaults come with packages.",
        "Install the lock of the base config, or start from the image of the release.",
    ),
    "TL805": CodeDoc(
        "platform-differs",
        "Driver, GPU, CPU features, C library or a variable of this host is not what was recorded.",
        "They choose the kernels and the order of sums.",
        "Start on a host like the one that was recorded, or release with a capture of this one.",
    ),
    "TL806": CodeDoc(
        "fingerprint-held",
        "The fingerprint that would be started is held: somebody rolled back from it.",
        "Starting it again would bring back what was taken away, mostly in the night.",
        "Start golden; lift the hold with `tierlock release unhold` once the cause is mended.",
    ),
    "TL807": CodeDoc(
        "server-differs",
        "The running server uses another value than the release says: a fallback of the engine, a default "
        "that moved, other weights, another template.",
        "It answers 200 all the same.",
        "Read the named source; then restart from the release, or roll back.",
    ),
    "TL808": CodeDoc(
        "edited-while-serving",
        "A config of this host was changed while the server runs.",
        "The server runs on unchanged; the next start, and whoever reads these files now, will not.",
        "Restore the file, or commit and release the change.",
    ),
    "TL809": CodeDoc(
        "tag-moved",
        "The tag of the image stands for another digest than the release pins.",
        "Whoever starts by the tag gets another engine.",
        "Start by the digest; find out who pushed the tag.",
    ),
    "TL810": CodeDoc(
        "not-comparable",
        "A layer that the release knows could not be looked at on this host.",
        "Unknown equals nothing: a gate that opened on it would be none.",
        "Make it readable: the message says what is in the way.",
    ),
    "TL811": CodeDoc(
        "release-not-trusted",
        "The release record does not verify, or golden was revoked.",
        "What it says of this host means nothing then.",
        "See `tierlock release verify`; return to a release that verifies.",
    ),
    "TL812": CodeDoc(
        "argument-not-known",
        "An argument after `--` is no option of the engine that tierlock knows.",
        "What it does cannot be judged.",
        "Correct its spelling, or leave it out.",
    ),
}
