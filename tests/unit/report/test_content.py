"""Prompts and answers are shown only to somebody who asks."""

from __future__ import annotations

from governance.report.content import hidden, without_secrets
from governance.verdict import Change, EffectiveValue, Finding, Report

WORDS = "You are a doctor. Never tell the patient."


def test_the_words_of_a_prompt_file_are_not_shown_with_a_finding() -> None:
    finding = Finding("TL402", "zero-width space", path="configs/prompts/a/system.md", line=1, excerpt=WORDS)
    assert hidden(Report("check", findings=(finding,))).findings[0].excerpt == ""


def test_the_words_in_a_prompts_config_are_not_shown_with_a_finding() -> None:
    finding = Finding(
        "TL402", "m", path="configs/prompts/a.yaml", line=1, key="system", excerpt=f"system: {WORDS}"
    )
    assert hidden(Report("check", findings=(finding,))).findings[0].excerpt == ""


def test_a_misspelt_key_of_a_prompts_config_is_shown() -> None:
    finding = Finding(
        "TL103", "m", path="configs/prompts/a.yaml", line=1, key="systm", excerpt="systm: {file: a}"
    )
    assert hidden(Report("check", findings=(finding,))).findings[0].excerpt


def test_a_changed_prompt_is_told_by_length_and_digest() -> None:
    change = Change("prompts", "system.md", WORDS, WORDS + "\n", text=(f"- {WORDS}",))
    (shown,) = hidden(Report("diff", changes=(change,))).changes
    assert shown.text == ()
    assert WORDS not in str(shown.before)
    assert shown.before != shown.after


def test_a_changed_number_is_shown() -> None:
    change = Change("sampling", "temperature", 0.1, 0.9)
    assert hidden(Report("diff", changes=(change,))).changes == (change,)


def test_a_text_that_is_left_out_is_counted_and_the_way_to_see_it_named() -> None:
    change = Change("prompts/a", "system", "sha256:" + "a" * 64, "sha256:" + "b" * 64, text=(f"- {WORDS}",))
    shown = hidden(Report("diff", changes=(change,)))
    assert shown.notes == ("1 changed text is not shown (--show-content)",)
    assert shown.changes[0].before == change.before


def test_a_compared_file_may_be_a_prompt() -> None:
    change = Change("file", "system.md", "sha256:" + "a" * 64, "sha256:" + "b" * 64, text=(f"- {WORDS}",))
    assert hidden(Report("diff", changes=(change,))).changes[0].text == ()


def test_no_secret_is_shown_even_to_who_asks_for_content() -> None:
    secret = "hf_" + "aB3dE5gH7jK9mN1pQ3rS5tU7vW9xY1zA3b"
    report = Report(
        "diff",
        changes=(Change("base", "environment", {"TOKEN": secret}, [secret], text=(f"+ {secret}",)),),
        values=(EffectiveValue("engine.extra.key", secret, secret),),
        notes=(f"was {secret}",),
    )
    assert secret not in repr(without_secrets(report))


def test_what_is_no_secret_stays_as_it_is() -> None:
    change = Change("sampling", "stop", ["</s>", 1, 1.0, None, True], {"a": "b"}, text=("+ plain",))
    assert without_secrets(Report("diff", changes=(change,), notes=("n",))).changes == (change,)
