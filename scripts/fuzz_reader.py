"""Feed the readers with generated input and hold them to their promises.

Promises: never an exception; a tree or a blocking finding, never both, never neither; what the fast path
accepts, the exact path and ruamel's own YAML 1.2 loader read as the same tree; what was made visible reads
back as it was; no input of a few kilobytes takes a second of processor time.

Each input is made from the seed and its number alone, so `--seed S --only N` repeats one.
Exit 0 when every promise held, 1 with the first failures otherwise.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench import corpus
from governance.tiers import decode, exact, json_reader, plain
from governance.tiers.reader import Reading, read_foreign_yaml, read_json, read_jsonl, read_yaml
from governance.tiers.text import from_visible, scan_reading, scan_text, visible

MAX_SECONDS = 1.0
PIECES = (
    "a", "key", "temperature", "n", "no", "Off", "y", "null", "~", "true", "1", "0", "-1", "1.0",
    "-0.0", ".5", "1e-5", "1E1", "0192117", "010", "0o10", "0x1F", "0b1", "1_000", "12:30",
    "2024-01-02", ".inf", ".nan", "=", "<<", "+5", "12fd25f7", "0.8.2", "1.0rc1", "b10434",
    "http://127.0.0.1:8080/v1", "<|im_end|>", "/a/b", "${A}", "$A", "US$5", "{{ x }}", '"q"',
    "'it''s'", '"\\n"', '"\\u200b"', '"\\ud83d"', '"a\\', "'", '"', "text with words", "a: b",
    "a #b", "a#b", "#c", "é", "文字", "\u200b", "\u202e", "\u00a0", "\ufeff", "👩‍👧", "\t", "\x00",
    "\x85", "\u2028", "\r", "&a", "*a", "!t", "!!int", "%", "@", "`", "?", "-", ":", ",", "[",
    "]", "{", "}", "|", ">", "|-", ">+", "|2", "---", "...", "x", "9", "1", "1e400", "[a, b]",
    "{a: b}", "{a: 1, b: [c]}", "[1, 2.5, ]", "[[a], {b: c}]", "{a:1}", "[a: b]", "0o" + "7" * 5000,
    "9" * 5000, "1_" * 50 + "1", "0" * 70, "1e" + "9" * 30,
)  # fmt: skip
SOUND = (
    "a", "key", "temperature", "true", "False", "null", "1", "0", "-1", "-0", "1.0", "-0.0",
    "0.25", "12fd25f7", "0.8.2", "1.0rc1", "http://127.0.0.1:8080/v1", "<|im_end|>", "/a/b",
    "US$5", '"q"', "'it''s'", '"\\n"', '"é\\t\\\\"', "text with words", "a#b", "文字", "[a, b]",
    "[]", "{}", "{a: b}", "{a: 1, b: [c]}", "[1, 2.5]", "[[a], {b: c}]", '{"a": "b, c", d: "]"}',
    "[ a , 'b c' ]", "{a: x y z, b: http://h/p}", "env:NAME", "a, b", "x-y_z.1", ">=550,<570",
)  # fmt: skip
LINES = (
    "key: value", "other: 1", "list:", "- item", "  - item", "nested:", "  inner: x",
    "    deep: 1", "text: |", "text: |-", "text: >", "text: >+", "text: |2", "  some text",
    "    more text", "", "  ", "# comment", "  # comment", "- a: 1", "  b: 2", "- - x", "? q",
    ": r", "---", "...", "key: [a, b]", "map: {a: 1}", '"123": 2', "'k': v", "  key: 1", "a:",
    "- |", "- >-", "- key: |", "   odd", "multi: one", "  two", "\tx: 1", "x:\t1", "x: 'a", "y'",
    "x: [a,", "b]", "- {a: 1}", "- [1, 2]", "-", "- # c", "key:  # c", "k: v # c", "k: |  # c",
    "a.b/c: 1", "a b: 1", "a : 1", "k:v", "k: v: w", "k: v:",
)  # fmt: skip


def main() -> int:
    """Run; print what was tried, what came out and how long it took."""
    options = argparse.ArgumentParser(description="Feed the readers with generated input.")
    options.add_argument(
        "count", nargs="?", type=int, default=100_000, help="how many inputs (default 100000)"
    )
    options.add_argument("--seed", type=int, default=1, help="default 1")
    options.add_argument("--only", type=int, help="just this number, and show it")
    given = options.parse_args()
    numbers = range(given.count) if given.only is None else [given.only]
    outcomes: Counter[str] = Counter()
    failures: list[str] = []
    start = time.perf_counter()
    slowest = (0.0, 0)
    for number in numbers:
        random = Random(f"{given.seed}/{number}")
        name, data = generated(random)
        if given.only is not None:
            print(repr(data))
        began = time.process_time()
        try:
            outcomes[f"{name}: {judge(data, random)}"] += 1
            slowest = max(slowest, (time.process_time() - began, number))
            assert slowest[0] < MAX_SECONDS, f"{slowest[0]:.1f} s for {len(data)} bytes"
        except Exception as broken:  # noqa: BLE001  # any exception at all is what we look for
            failures.append(f"--seed {given.seed} --only {number}  {type(broken).__name__}: {broken}")
            if len(failures) >= 10:
                break
    spent = time.perf_counter() - start
    print(f"seed {given.seed}, {sum(outcomes.values()):,} inputs held in {spent:,.0f} s")
    print(f"  slowest: {slowest[0] * 1000:.0f} ms, number {slowest[1]}")
    for outcome, count in sorted(outcomes.items()):
        print(f"  {count:>8,}  {outcome}")
    for failure in failures:
        print(f"FAILED {failure}")
    return 1 if failures else 0


# -- inputs


def generated(random: Random) -> tuple[str, bytes]:
    """One input and the name of how it was made."""
    name = random.choice(list(MAKERS))
    return name, MAKERS[name](random)


def realistic(random: Random) -> str:
    """A tier file as people write them."""
    return random.choice((corpus.base, corpus.sampling, corpus.prompts))(random)[:4000]


def mutated(random: Random) -> bytes:
    """A realistic file with a few characters or pieces put in, taken out or exchanged."""
    text = realistic(random)
    for _ in range(random.randint(1, 4)):
        at = random.randrange(len(text) + 1)
        cut = random.choice((0, 0, 1, 1, 2, random.randint(0, 30)))
        text = text[:at] + random.choice((*PIECES, "", "\n", " ", "  ")) + text[at + cut :]
    return text.encode()


def lines_moved(random: Random) -> bytes:
    """A realistic file with lines repeated, dropped, moved or indented otherwise."""
    lines = realistic(random).split("\n")
    for _ in range(random.randint(1, 4)):
        at = random.randrange(len(lines))
        what = random.randrange(5)
        if what == 0:
            del lines[at]
        elif what == 1:
            lines.insert(at, lines[random.randrange(len(lines))])
        elif what == 2:
            lines[at] = " " * random.randint(0, 5) + lines[at].lstrip(" ")
        elif what == 3:
            lines.insert(at, random.choice(LINES))
        else:
            lines[at] += random.choice(("", " ", "  ", " # c", ":", " |"))
        lines = lines or [""]
    return "\n".join(lines).encode()


def from_lines(random: Random) -> bytes:
    """Lines that occur in YAML files, in any order."""
    lines = [random.choice(LINES) for _ in range(random.randint(0, 9))]
    return ("\n".join(lines) + random.choice(("\n", "", "\n\n"))).encode()


def from_grammar(random: Random) -> bytes:
    """A mapping with scalars, quotes, block text, flow and block collections in many spellings."""
    return ("\n".join(_mapping(random, 0, 0)) + "\n").encode()


def _mapping(random: Random, indent: int, depth: int) -> list[str]:
    lines = []
    for number in range(random.randint(1, 4)):
        key = random.choice((f"k{number}", f"k{number}.x", f'"{number}"', f"'q{number}'", f"n-{number}"))
        key = key if random.random() < 0.97 else random.choice(("same", "n", "on", "1", "a b"))
        lines += _entry(random, " " * indent + key + ":", indent, depth)
        if random.random() < 0.2:
            lines.append(random.choice(("", "# c", " " * random.randint(0, 6) + "# c", "  ")))
    return lines


def _entry(random: Random, head: str, indent: int, depth: int) -> list[str]:
    what = random.randrange(6) if depth < 4 else 0
    step = random.choice((1, 2, 2, 2, 4))
    if what == 0:
        return [
            head + " " * random.choice((1, 1, 1, 2)) + _piece(random) + random.choice(("", "", " ", " # c"))
        ]
    if what == 1:
        return [f"{head} {_flow(random, 0)}"]
    if what == 2:
        return [head, *_mapping(random, indent + step, depth + 1)]
    if what == 3:
        below = indent + random.choice((0, 2, 2))
        return [head, *(line for _ in range(random.randint(1, 3)) for line in _item(random, below, depth))]
    return [
        head + " " + random.choice(("|", "|-", "|+", ">", ">-", ">+", "|2", "|2-")),
        *_text(random, indent + step),
    ]


def _item(random: Random, indent: int, depth: int) -> list[str]:
    if random.random() < 0.4:
        inner = _mapping(random, indent + 2, depth + 1)
        return [" " * indent + "- " + inner[0].lstrip(" "), *inner[1:]]
    return _entry(random, " " * indent + "-", indent, 9 if random.random() < 0.8 else depth)


def _text(random: Random, indent: int) -> list[str]:
    choices = (
        "word",
        "two words",
        "",
        "",
        "   ",
        "  more",
        "# no comment",
        "- x",
        "a: b",
        "tail ",
        "\ttab",
        "文字",
    )
    lines = []
    for _ in range(random.randint(0, 5)):
        line = random.choice(choices)
        lines.append(" " * (indent + random.choice((0,) * 20 + (1, 1, -1))) + line if line.strip() else line)
    return lines


def _piece(random: Random) -> str:
    return random.choice(SOUND if random.random() < 0.95 else PIECES)


def _flow(random: Random, depth: int) -> str:
    if depth > 3 or random.random() < 0.5:
        return _piece(random)
    parts = [_flow(random, depth + 1) for _ in range(random.randint(0, 3))]
    comma = random.choice((", ", ",", " , "))
    if random.random() < 0.5:
        return "[" + comma.join(parts) + random.choice(("]", "]", ",]", " ]"))
    return (
        "{"
        + comma.join(f"k{n}{random.choice((': ', ': ', ':'))}{part}" for n, part in enumerate(parts))
        + "}"
    )


def truncated(random: Random) -> bytes:
    """A realistic file cut off anywhere, also inside a character."""
    data = (realistic(random) + "système: 文字\n").encode()
    return data[: random.randrange(len(data))]


def noise(random: Random) -> bytes:
    """Bytes."""
    return random.randbytes(random.choice((0, 1, 2, 8, 200)))


def marked(random: Random) -> bytes:
    """Bytes that begin like an encoding, or other line ends."""
    head = random.choice(
        (b"\xef\xbb\xbf", b"\xef\xbb\xbf\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\x00", b"%YAML 1.1\n---\n")
    )
    text = realistic(random).replace("\n", random.choice(("\n", "\r\n", "\r")))
    return random.choice((head, b"")) + text.encode(random.choice(("utf-8", "utf-8", "utf-16-le", "latin-1")))


def json_like(random: Random) -> bytes:
    """JSON, sound or nearly."""
    text = _json(random, 0)
    if random.random() < 0.5:
        at = random.randrange(len(text) + 1)
        text = (
            text[:at]
            + random.choice((*PIECES, "", "NaN", "1e400", '"a":1,'))
            + text[at + random.randint(0, 2) :]
        )
    return text.encode()


def _json(random: Random, depth: int) -> str:
    what = random.randrange(7) if depth < 4 else random.randrange(4)
    if what < 4:
        return random.choice(
            (
                '"x"',
                "1",
                "-2.5",
                "1e5",
                "true",
                "null",
                '"\\u00e9"',
                '"\\ud83d\\ude00"',
                "12345678901234567890",
            )
        )
    parts = [_json(random, depth + 1) for _ in range(random.randint(0, 3))]
    if what == 4:
        return "[" + ", ".join(parts) + "]"
    return "{" + ",\n".join(f'"{random.choice("abcd")}": {part}' for part in parts) + "}"


MAKERS: dict[str, Callable[[Random], bytes]] = {
    "realistic, mutated": mutated,
    "realistic, lines moved": lines_moved,
    "lines in any order": from_lines,
    "grammar": from_grammar,
    "truncated": truncated,
    "bytes": noise,
    "encodings and line ends": marked,
    "JSON": json_like,
}


# -- promises


def judge(data: bytes, random: Random) -> str:
    """What became of `data`; raises `AssertionError` when a promise is broken."""
    reading = read_yaml(data, "f.yaml")
    one_of_both(reading)
    fast = agreement(data)
    one_of_both(read_json(data, "f.json"))
    json_agreement(data)
    if random.random() < 0.25:
        for each in (*read_jsonl(data, "f.jsonl"), *read_foreign_yaml(data, "f.yaml")):
            one_of_both(each)
            located(each)
    located(reading)
    scan_reading(reading)
    text = data.decode(errors="replace")
    scan_text(text, "f.md")
    assert from_visible(visible(text)) == text, "what was made visible does not read back"
    if reading.tree is None:
        return "refused"
    return "read by the fast path" if fast else "read by the exact path"


def one_of_both(reading: Reading) -> None:
    """A tree or a blocking finding."""
    blocked = any(finding.blocks for finding in reading.findings)
    assert blocked == (reading.tree is None), f"tree {reading.tree!r}, findings {reading.findings}"


def located(reading: Reading) -> None:
    """Marks can be had, and findings point into the text."""
    for place in reading.marks.places.values.values():
        assert place.line >= 1
        assert place.column >= 1
    lines = reading.text.split("\n")
    for finding in reading.findings:
        row = finding.line - reading.first_line
        assert 0 <= row < len(lines), finding
        assert 0 < finding.column <= len(lines[row]) + 1, finding


def agreement(data: bytes) -> bool:
    """Whether the fast path took `data`; then the exact path and ruamel must agree."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return False
    tree = plain.parse(text)
    if tree is None:
        return False
    composed = exact.compose(text)
    assert not composed.faults, f"the fast path accepts what the exact path refuses: {composed.faults}"
    assert not decode.raw_faults(text), "the fast path accepts raw control characters"
    assert repr(tree) == repr(composed.tree), f"fast {tree!r}, exact {composed.tree!r}"
    from ruamel.yaml import YAML

    loaded = YAML(typ="safe", pure=True).load(text)
    assert repr(tree) == repr(loaded), f"fast {tree!r}, ruamel {loaded!r}"
    return True


def json_agreement(data: bytes) -> None:
    """What the fast way of JSON accepts, the exact way reads alike."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return
    value = json_reader.quick(text)
    if value is not None:
        composed = json_reader.compose(text)
        assert not composed.faults, f"the fast way accepts what the exact way refuses: {composed.faults}"
        assert repr(value) == repr(composed.tree), f"fast {value!r}, exact {composed.tree!r}"


if __name__ == "__main__":
    sys.exit(main())
