"""Names and versions are equal text exactly when PEP 503 and PEP 440 say they are equal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from governance.fingerprint.versions import local_label, normal_name, normal_version

CASES = [
    ("6.2", "6.2.0", True),
    ("2.6.0+cu124", "2.6.0+CU124", True),
    ("2.6.0+cu124", "2.6.0+cpu", False),
    ("2.6.0+cu124", "2.6.0", False),
    ("0.8.4", "0.8.4.post1", False),
    ("1.0-RC1", "1.0rc1", True),
    ("1.0.alpha", "1.0a0", True),
    ("1.0-1", "1.0.post1", True),
    ("v1.0", "1.0", True),
    ("1!1.0", "1.0", False),
    ("0!1.0", "1.0", True),
    ("01.02", "1.2", True),
    ("1.0+ubuntu-1", "1.0+ubuntu.1", True),
    ("1.0.dev3", "1.0", False),
    ("not a version", "not a version", True),
    ("0.0", "0", True),
]


@pytest.mark.parametrize(("left", "right", "same"), CASES)
def test_versions_are_equal_when_pep_440_says_so(left: str, right: str, same: bool) -> None:
    assert (normal_version(left) == normal_version(right)) is same


version_text = st.from_regex(
    r"v?([0-9]!)?[0-9]{1,2}(\.[0-9]{1,2}){0,3}([-_.]?(a|b|rc|alpha|pre)[-_.]?[0-9]?)?(-[0-9]|\.post[0-9]?)?(\.dev[0-9]?)?(\+[a-zA-Z0-9]{1,3}([-_.][a-zA-Z0-9]{1,3})?)?",
    fullmatch=True,
)


@given(version_text, version_text)
def test_packaging_agrees_on_every_pair(left: str, right: str) -> None:
    try:
        same = Version(left) == Version(right)
    except InvalidVersion:
        return
    assert (normal_version(left) == normal_version(right)) is same


@given(version_text)
def test_the_normal_form_is_its_own_normal_form(text: str) -> None:
    assert normal_version(normal_version(text)) == normal_version(text)


@given(st.from_regex(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,12}[A-Za-z0-9])?", fullmatch=True))
def test_packaging_agrees_on_every_name(name: str) -> None:
    assert normal_name(name) == canonicalize_name(name)


def test_the_build_label_is_told_without_the_plus() -> None:
    assert local_label("2.6.0+CU124") == "cu124"
    assert local_label("2.6.0") == ""
