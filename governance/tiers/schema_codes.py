"""The catalogue of what schemas and loading refuse: one entry per code, TL050 to TL069 and TL100 to TL199.

- Every finding of `validate.py`, `explain.py`, `structure.py` and `loading.py` carries a code listed here.
- Codes are for ever: a code is never given another meaning, a retired one is never reused.
"""

from __future__ import annotations

from typing import Final

from governance.tiers.reader_codes import CodeDoc

CODES: Final[dict[str, CodeDoc]] = {
    "TL050": CodeDoc(
        "unclassified-file",
        "A file under a governed folder belongs to no config.",
        "Nobody reviews or fingerprints it, yet a server, a script or a person may read it.",
        "Name it in a config of its folder, move it elsewhere, or delete it.",
    ),
    "TL051": CodeDoc(
        "symbolic-link",
        "A governed path is a symbolic link.",
        "What it points to can change without any change in the repository.",
        "Commit the file itself.",
    ),
    "TL052": CodeDoc(
        "submodule",
        "A governed path is a nested repository.",
        "Its content is not in this repository: it is neither reviewed here nor restored with it.",
        "Commit the files themselves.",
    ),
    "TL053": CodeDoc(
        "lfs-pointer",
        "A governed file is a Git LFS pointer instead of its content.",
        "What the server reads and what is reviewed would be two things.",
        "Keep tier files out of LFS: `git lfs untrack`, then commit the file itself.",
    ),
    "TL054": CodeDoc(
        "not-a-regular-file",
        "A governed path is a device, a pipe or a socket.",
        "Its content is not in the repository.",
        "Replace it by a regular file.",
    ),
    "TL055": CodeDoc(
        "twin-names",
        "Two governed paths differ only in case, or in how a letter with an accent is stored.",
        "On some systems they are one file, so which of the two is served depends on the machine.",
        "Rename one of them.",
    ),
    "TL056": CodeDoc(
        "config-name",
        "The file name is no name for a config.",
        "Names stand in `tierlock.yaml`, in commands and in records; they must read the same everywhere.",
        "Use letters, digits, `_`, and inside also `.` and `-`, and end the name with `.yaml`.",
    ),
    "TL057": CodeDoc(
        "missing-reference",
        "A config names a file that is not there.",
        "What the config describes cannot be served, compared or restored.",
        "Add the file to the config's own folder, or correct the name.",
    ),
    "TL058": CodeDoc(
        "reference-outside",
        "A config names a file outside its own folder.",
        "Such a file can change without a change of the config, and be another one elsewhere.",
        "Copy the file into the config's own folder and name it without `..`, `/` at the start, or `\\`.",
    ),
    "TL059": CodeDoc(
        "unused-file",
        "A file in a config's folder is named by nothing in the config.",
        "It looks as if it shaped answers and does not; the next reader edits it and wonders.",
        "Name it in the config, or delete it.",
    ),
    "TL060": CodeDoc(
        "unknown-config",
        "A service names a config that is not there.",
        "The service cannot be described, compared or released.",
        "Correct the name, or add the config.",
    ),
    "TL061": CodeDoc(
        "reference-too-large",
        "A referenced file is larger than the limit for its kind.",
        "Reading it on every commit would make the hook slow, and no prompt of this size is meant.",
        "Shorten the file; weights and data sets are named by digest instead.",
    ),
    "TL062": CodeDoc(
        "unreadable-file",
        "A governed file could not be read.",
        "What cannot be read cannot be judged.",
        "Mend its permissions, or restore it from version control.",
    ),
    "TL063": CodeDoc(
        "not-utf8-name",
        "A governed path is not valid UTF-8.",
        "Systems show and store such a name differently, so it cannot be referred to with certainty.",
        "Rename the file.",
    ),
    "TL064": CodeDoc(
        "reference-not-text",
        "A referenced text file is not UTF-8 text.",
        "A prompt is text; other bytes reach the model as something nobody wrote.",
        "Save the file as UTF-8 without a byte order mark.",
    ),
    "TL065": CodeDoc(
        "services-file",
        "There are configs, and no `tierlock.yaml` that says which service uses them.",
        "Without it nothing says what is served, who must approve a change, and which rules are set aside.",
        "Write a `tierlock.yaml`; `tierlock init` makes one.",
    ),
    "TL100": CodeDoc(
        "schema",
        "The file does not match the schema.",
        "What is not described cannot be judged.",
        "See the message.",
    ),
    "TL101": CodeDoc(
        "missing-key",
        "A key that must be there is not.",
        "Without it the config does not say what is served.",
        "Add the key.",
    ),
    "TL102": CodeDoc(
        "wrong-type",
        "A value is of the wrong type: text for a number, true for 1, 1.0 for a whole number.",
        "Types are never converted: what a reviewer reads is what the engine gets.",
        "Write the value in the type the message names.",
    ),
    "TL103": CodeDoc(
        "unknown-key",
        "A key that this kind of file does not have.",
        "A misspelt key would be ignored, and the engine's default used, without a word.",
        "Use the name the hint gives, or remove the key.",
    ),
    "TL104": CodeDoc(
        "out-of-range",
        "A number outside the range the field allows.",
        "Engines clamp, ignore or fail on such values, each in its own way.",
        "Choose a value in the range.",
    ),
    "TL105": CodeDoc(
        "not-a-choice",
        "A word that is none of the choices.",
        "It would be ignored or fail at start.",
        "Choose one of the words the message lists.",
    ),
    "TL106": CodeDoc(
        "wrong-kind",
        "`kind` is not the tier of the folder the file lies in.",
        "A config that moved by mistake would be read as something it is not.",
        "Correct `kind`, or move the file.",
    ),
    "TL107": CodeDoc(
        "null",
        "A key without a value, or with null.",
        "Absent, null and default are three states; engines disagree on what null means.",
        "Leave the key out, or write `inherit` where the field allows it.",
    ),
    "TL108": CodeDoc(
        "wrong-form",
        "Text that does not have the form the field asks for.",
        "A digest, a date or a name in another form names something else, or nothing.",
        "Write it in the form the message gives.",
    ),
    "TL109": CodeDoc(
        "wrong-length",
        "Text that is empty, or longer than the field allows.",
        "Empty text is neither absent nor a value.",
        "Leave the key out, or shorten the text.",
    ),
    "TL110": CodeDoc(
        "key-form",
        "A name that the file itself chooses does not have the form such names need.",
        "It could not be used where it is meant to be.",
        "Rename it.",
    ),
}
