"""The canonical form: RFC 8785 to the byte, and nothing else has one."""

from __future__ import annotations

import hashlib
import math

import pytest
import rfc8785

from governance.tiers.canonical import SCHEME, canonical, canonical_exactly, digest, number_text, text_digest
from governance.values import Json

# RFC 8785 appendix B, by the bits of the double.
NUMBERS = {
    "0000000000000000": "0",
    "8000000000000000": "0",
    "0000000000000001": "5e-324",
    "8000000000000001": "-5e-324",
    "7fefffffffffffff": "1.7976931348623157e+308",
    "ffefffffffffffff": "-1.7976931348623157e+308",
    "4340000000000000": "9007199254740992",
    "c340000000000000": "-9007199254740992",
    "4430000000000000": "295147905179352830000",
    "44b52d02c7e14af5": "9.999999999999997e+22",
    "44b52d02c7e14af6": "1e+23",
    "44b52d02c7e14af7": "1.0000000000000001e+23",
    "444b1ae4d6e2ef4e": "999999999999999700000",
    "444b1ae4d6e2ef4f": "999999999999999900000",
    "444b1ae4d6e2ef50": "1e+21",
    "3eb0c6f7a0b5ed8c": "9.999999999999997e-7",
    "3eb0c6f7a0b5ed8d": "0.000001",
    "41b3de4355555553": "333333333.3333332",
    "41b3de4355555554": "333333333.33333325",
    "41b3de4355555555": "333333333.3333333",
    "41b3de4355555556": "333333333.3333334",
    "41b3de4355555557": "333333333.33333343",
    "becbf647612f3696": "-0.0000033333333333333333",
    "43143ff3c1cb0959": "1424953923781206.2",
}


@pytest.mark.parametrize(("bits", "text"), NUMBERS.items())
def test_a_number_is_written_as_the_table_of_rfc_8785_says(bits: str, text: str) -> None:
    import struct

    value: float = struct.unpack(">d", bytes.fromhex(bits))[0]
    assert number_text(value) == text
    assert canonical(value) == canonical_exactly(value) == text.encode()


def test_the_worked_example_of_rfc_8785_comes_out() -> None:
    value: Json = {
        "numbers": [333333333.33333329, 1e30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": "\u20ac$\u000f\u000aA'\u0042\u0022\u005c\\\"/",
        "literals": [None, True, False],
    }
    assert canonical(value).decode() == (
        '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    )


def test_keys_are_sorted_by_utf16_code_units() -> None:
    """RFC 8785 section 3.2.3: an astral character sorts before U+FB33, which UTF-8 bytes would not do."""
    keys = ["\u20ac", "\r", "\ufb33", "1", "\U0001f600", "\u0080", "\u00f6"]
    written = canonical(dict.fromkeys(keys, 1)).decode()
    order = ["\\r", "1", "\u0080", "\u00f6", "\u20ac", "\U0001f600", "\ufb33"]
    assert written == "{" + ",".join(f'"{key}":1' for key in order) + "}"


@pytest.mark.parametrize(
    ("left", "right"), [(1, 1.0), (0.0, -0.0), (100000.0, 1e5), (0.1, 1e-1), (0, -0.0), ((1, 2), [1, 2])]
)
def test_one_meaning_has_one_form(left: Json, right: Json) -> None:
    assert canonical({"a": left}) == canonical({"a": right})


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (0.3, 0.30000000000000004), (1, True), (0, False), (0, None), ("1", 1), ([], {}), ("", None),
        ("\u00e9", "e\u0301"), ("a", "a\n"), ([1, 2], [2, 1]), ({"a": None}, {}),
    ],
)  # fmt: skip
def test_two_meanings_have_two_forms(left: Json, right: Json) -> None:
    assert canonical({"a": left}) != canonical({"a": right})


NO_FORM = {
    "NaN": ({"a": [1, math.nan]}, "`a[1]`"),
    "infinity": ({"a": {"b": math.inf}}, "`a.b`"),
    "minus infinity": ({"a": -math.inf}, "`a`"),
    "a big integer": ({"a": 2**53}, "`a`"),
    "a very big integer": ({"a": 2**70}, "`a`"),
    "a big negative integer": ({"a": -(2**53)}, "`a`"),
    "half a character": ({"a": "\ud800"}, "`a`"),
    "half a character in a key": ({"a": {"\udfff": 1}}, "`a"),
    "a number for a key": ({"a": {1: 2}}, "`a`"),
    "bytes": ({"a": b"x"}, "`a`"),
    "a set": ({"a": {1}}, "`a`"),
    "an object": ({"a": object()}, "`a`"),
    "nothing at the top": (math.nan, "`the value`"),
}


@pytest.mark.parametrize(("value", "named"), NO_FORM.values(), ids=NO_FORM)
def test_what_has_no_canonical_form_is_refused_by_its_key(value: Json, named: str) -> None:
    for function in (canonical, canonical_exactly, digest):
        with pytest.raises(ValueError, match="no canonical form") as refusal:
            function(value)
        assert named in str(refusal.value)
        assert str(refusal.value).isprintable()


def test_depth_is_a_bound_and_no_crash() -> None:
    value: Json = []
    for _ in range(100_000):
        value = [value]
    with pytest.raises(ValueError, match="deeper"):
        canonical(value)


def test_text_is_kept_byte_for_byte() -> None:
    text = " \u00a0\u200b\ufeffe\u0301\u2028\x7f\t\r\n"
    assert canonical(text) == rfc8785.dumps(text)
    assert digest(text) != digest(text.strip())


def test_the_value_is_not_changed() -> None:
    value: Json = {"b": 1.0, "a": [2.0, {"c": -0.0}]}
    canonical(value)
    assert repr(value) == "{'b': 1.0, 'a': [2.0, {'c': -0.0}]}"


def test_digests_are_sha256_of_the_canonical_bytes_and_of_bytes_as_they_are() -> None:
    """These digests are written into releases: they may never change under this scheme's name."""
    assert SCHEME == "tl1-sha256"
    assert digest({"b": 2.0, "a": 1}) == hashlib.sha256(b'{"a":1,"b":2}').hexdigest()
    assert digest({}) == "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
    assert text_digest(b"a\r\n") == hashlib.sha256(b"a\r\n").hexdigest()
    assert text_digest(b"a\r\n") != text_digest(b"a\n")
