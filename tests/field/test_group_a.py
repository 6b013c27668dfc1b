"""Group A of the field cases: what drifted silently in LLM serving, and what we say about it.

Inputs are those of the public cases, rewritten by one fixed mapping. Parts of a case that need an eval, a
check-up or the monitor are tested where these are built.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest

from governance.adapters.files import MemoryTree
from governance.engines.sources.importing import import_sources
from governance.fingerprint.capture import from_list
from governance.fingerprint.compare import capture_changes, compare_captures
from governance.fingerprint.layers import config_digest
from governance.fingerprint.observed import resolved_differs
from governance.fingerprint.services import fingerprint_of
from governance.fingerprint.states import State
from governance.fingerprint.weights import verify_revision
from governance.release.diff import compare
from governance.release.sides import FileSide, StateSide
from governance.report.json import render as as_json
from governance.report.text import render as as_text
from governance.tiers.check import check
from governance.tiers.config import Config, ConfigId, load_config, load_repository
from governance.tiers.writer import dump
from governance.values import Effect, Unknown
from governance.verdict import Finding, Outcome, Report, Severity
from tests.field import mapping
from tests.support.rules import TODAY, facts

CASES = Path(__file__).parent / "cases"
SERVICES = "version: 1\nservices:\n  tern:\n    base: tern\n    sampling: tern\n    prompts: tern\n"
PASSWORDS = ("not-a-real-password-1234", "not-a-real-password-5678")


def data(path: str) -> bytes:
    return (CASES / path).read_bytes()


def base(path: str) -> dict[str, Any]:
    return mapping.base(mapping.neutral(data(path)))


def repository(
    trees: Mapping[str, Mapping[str, Any]], files: Mapping[str, bytes] | None = None
) -> MemoryTree:
    """The tiers as configs called `tern`; bound to one service when all three are there."""
    content = {f"configs/{tier}/tern.yaml": dump(tree).encode() for tier, tree in trees.items()}
    content |= {f"configs/{name}": each for name, each in (files or {}).items()}
    content["tierlock.yaml"] = (SERVICES if len(trees) == 3 else "version: 1\nservices: {}\n").encode()
    return MemoryTree(content)


def config(tier: str, tree: Mapping[str, Any], files: Mapping[str, bytes] | None = None) -> Config:
    found, findings = load_config(repository({tier: tree}, files), ConfigId(tier, "tern"))
    assert found is not None, findings
    return found


def digest(tier: str, tree: Mapping[str, Any], files: Mapping[str, bytes] | None = None) -> str:
    return config_digest(config(tier, tree, files))


def checked(trees: Mapping[str, Mapping[str, Any]], files: Mapping[str, bytes] | None = None) -> Report:
    return check(repository(trees, files), today=TODAY, engine_facts=facts())


def told(report: Report, code: str) -> list[Finding]:
    return [finding for finding in report.findings if finding.code == code]


def state(label: str, tree: MemoryTree) -> StateSide:
    return StateSide(label, State(tree), "tern")


def file_side(path: str) -> FileSide:
    return FileSide(path, path, data(path), lambda name: data(f"{path.rpartition('/')[0]}/{name}"))


class TestA01:
    """The engine upgrade starts to read the model repository's generation_config.json."""

    files: ClassVar[dict[str, Any]] = {
        "base/tern/generation_config.json": data("A01/model-files/generation_config.json")
    }

    def trees(self, side: str) -> dict[str, dict[str, Any]]:
        tree = base(f"A01/{side}/base.yaml")
        tree["model"]["generation_config"] = {"file": "generation_config.json"}
        return {
            "base": tree,
            "sampling": mapping.sampling(mapping.neutral(data("A01/sampling.yaml"))),
            "prompts": {"kind": "prompts", "system": "Answer.\n"},
        }

    def test_the_engine_version_is_in_the_base_fingerprint(self) -> None:
        before, after = (digest("base", self.trees(side)["base"], self.files) for side in ("before", "after"))
        assert before != after

    def test_the_check_names_what_is_not_pinned_and_the_values_that_now_apply(self) -> None:
        (finding,) = told(checked(self.trees("after"), self.files), "TL311")
        assert finding.blocks
        for value in ("`top_p` 0.8", "`top_k` 20", "`repetition_penalty` 1.05"):
            assert value in finding.message
        assert "temperature" not in finding.message

    def test_before_the_upgrade_they_float_and_the_file_is_not_read(self) -> None:
        report = checked(self.trees("before"), self.files)
        assert told(report, "TL311") == []
        assert told(report, "TL310")

    def test_editing_only_the_model_file_changes_the_fingerprint(self) -> None:
        edited = {name: each.replace(b"0.8", b"0.9") for name, each in self.files.items()}
        tree = self.trees("after")["base"]
        assert digest("base", tree, self.files) != digest("base", tree, edited)

    def test_effective_sampling_differs_although_the_file_does_not(self) -> None:
        before, after = (repository(self.trees(side), self.files) for side in ("before", "after"))
        report = compare(state("before", before), state("after", after))
        states = {layer.name: layer.state for layer in report.layers}
        assert (states["base"], states["sampling"], states["effective"]) == ("changed", "same", "changed")
        moved = {c.key: (c.before, c.after, c.after_from) for c in report.changes if c.layer == "effective"}
        assert moved["sampling.top_p"][:2] == (1.0, 0.8)
        assert moved["sampling.top_k"][:2] == (-1, 20)
        assert moved["sampling.repetition_penalty"][:2] == (1.0, 1.05)
        assert "generation_config.json" in moved["sampling.top_p"][2]
        assert "sampling.temperature" not in moved
        assert any("temperature 0.2" in note for note in report.notes)


class TestA03:
    """The BOS token is written twice on one path only."""

    files: ClassVar[dict[str, Any]] = {
        "prompts/tern/chat_template.jinja": data("A03/prompts/chat_template.jinja"),
        "prompts/tern/tokenizer_config.json": data("A03/model-files/tokenizer_config.json"),
    }

    def tree(self, side: str) -> dict[str, Any]:
        neutral = mapping.neutral(data(f"A03/prompts_{side}.yaml"))
        return mapping.prompts({**neutral, "tokenizer_config": "model-files/tokenizer_config.json"})

    def test_the_check_finds_a_token_written_by_both(self) -> None:
        (finding,) = told(checked({"prompts": self.tree("on")}, self.files), "TL416")
        assert finding.path == "configs/prompts/tern/chat_template.jinja"
        assert "written twice" in finding.message

    def test_no_finding_where_the_tokenizer_adds_none(self) -> None:
        assert checked({"prompts": self.tree("off")}, self.files).findings == ()

    def test_the_flag_is_in_the_fingerprint(self) -> None:
        on, off = (digest("prompts", self.tree(side), self.files) for side in ("on", "off"))
        assert on != off


class TestA04:
    """Two chat templates differ by the newline at the end of the file."""

    tree: ClassVar[dict[str, Any]] = {"kind": "prompts", "chat_template": {"file": "chat_template.jinja"}}

    def test_they_have_two_fingerprints(self) -> None:
        a, b = (
            digest(
                "prompts",
                self.tree,
                {"prompts/tern/chat_template.jinja": data(f"A04/{side}/chat_template.jinja")},
            )
            for side in ("a", "b")
        )
        assert a != b

    def test_the_diff_says_it_in_words(self) -> None:
        sides = file_side("A04/a/chat_template.jinja"), file_side("A04/b/chat_template.jinja")
        report = compare(*sides, fail_on_difference=True)
        assert report.outcome is Outcome.BLOCK
        assert "newline added at end of file" in "\n".join(report.changes[0].text)
        assert "newline added at end of file" in as_text(report)


class TestA06:
    """The template injects today's date, or a frozen one."""

    tree: ClassVar[dict[str, Any]] = {"kind": "prompts", "chat_template": {"file": "chat_template.jinja"}}
    files: ClassVar[dict[str, Any]] = {
        "prompts/tern/chat_template.jinja": data("A06/prompts/chat_template.jinja")
    }

    def test_the_fingerprint_is_of_the_source_and_knows_no_day(self) -> None:
        """Computing it reads no clock: the same on both dates of the case."""
        first, second = (digest("prompts", self.tree, self.files) for _ in data("A06/clock.txt").split())
        assert first == second

    def test_the_check_finds_the_clock_and_the_frozen_date(self) -> None:
        report = checked({"prompts": self.tree}, self.files)
        (clock,) = told(report, "TL413")
        assert "depends on the clock" in clock.message
        assert clock.line == 5
        (frozen,) = told(report, "TL414")
        assert "2023/02/01" in frozen.message
        assert frozen.line == 7

    def test_a_pinned_date_settles_it_and_enters_the_fingerprint(self) -> None:
        pinned = {**self.tree, "date": "2025-03-01"}
        assert told(checked({"prompts": pinned}, self.files), "TL413") == []
        assert digest("prompts", pinned, self.files) != digest("prompts", self.tree, self.files)


class TestA08:
    """Revision `main` moves, the tokenizer is forgotten, the pinned commit vanishes."""

    def report(self, side: str) -> Report:
        return checked({"base": base(f"A08/{side}/base.yaml")})

    def test_a_moving_name_blocks(self) -> None:
        (finding,) = told(self.report("floating"), "TL201")
        assert finding.blocks
        assert "`main`" in finding.message
        assert (finding.path, finding.key) == ("configs/base/tern.yaml", "model.revision")

    def test_a_forgotten_tokenizer_is_a_warning(self) -> None:
        report = self.report("half")
        (finding,) = told(report, "TL203")
        assert finding.severity is Severity.WARNING
        assert "default branch" in finding.message
        assert report.outcome is Outcome.PASS

    def test_seven_digits_are_no_pin(self) -> None:
        assert len(told(self.report("short"), "TL201")) == 2

    def test_pinned_is_valid(self) -> None:
        report = self.report("pinned")
        assert report.outcome is Outcome.PASS
        assert not any(finding.code in {"TL201", "TL202", "TL203"} for finding in report.findings)

    def test_pinned_and_half_have_two_fingerprints(self) -> None:
        pinned, half = (digest("base", base(f"A08/{side}/base.yaml")) for side in ("pinned", "half"))
        assert pinned != half

    def test_what_main_meant_on_two_days_differs(self) -> None:
        name = "acme/tern-7b-chat@main"
        then, now = (json.loads(data(f"A08/resolved-{day}.json"))[name] for day in ("0301", "0401"))
        (finding,) = verify_revision("acme/tern-7b-chat", "main", then=then, now=now)
        assert then[:12] in finding.message
        assert now[:12] in finding.message

    def test_a_pinned_commit_that_is_gone_is_said_to_be_gone(self) -> None:
        wanted = base("A08/pinned/base.yaml")["model"]["revision"]
        reachable = json.loads(data("A08/hub-refs.json"))["acme/tern-7b-chat"]["reachable"]
        assert wanted not in reachable
        now = Unknown("the hub has no such commit any more")
        (finding,) = verify_revision("acme/tern-7b-chat", wanted, now=now)
        assert wanted[:12] in finding.message
        assert "no such commit" in finding.message


class TestA09:
    """`dtype: auto` is bfloat16 on one GPU and float16 on another."""

    def resolved(self, name: str) -> dict[str, str]:
        found: dict[str, str] = json.loads(data(f"A09/runtime-{name}.json"))["resolved"]
        return found

    def test_the_check_warns_of_auto(self) -> None:
        (finding,) = told(checked({"base": base("A09/base.yaml")}), "TL220")
        assert finding.severity is Severity.WARNING
        assert finding.key == "precision.dtype"

    @pytest.mark.parametrize("name", ["t4", "wrapper"])
    def test_against_golden_the_key_and_both_values_are_named(self, name: str) -> None:
        golden = self.resolved("l40s")
        (finding,) = resolved_differs(self.resolved(name), declared={"dtype": "auto"}, golden=golden)
        assert finding.blocks
        for word in ("dtype", "bfloat16", "float16"):
            assert word in finding.message

    def test_the_golden_host_itself_is_equal(self) -> None:
        assert resolved_differs(self.resolved("l40s"), golden=self.resolved("l40s")) == ()


class TestA11:
    """A transitive package upgrade changes which attention kernel `auto` picks."""

    def test_the_packages_layer_differs_and_the_kernel_package_comes_first(self) -> None:
        before, after = (
            from_list(data(f"A11/{side}/requirements.lock"), "requirements.lock", generated_at="", tool="")
            for side in ("before", "after")
        )
        (layer,) = compare_captures(before, after)
        assert (layer.name, layer.state) == ("packages", "changed")
        (change,) = capture_changes(before, after)
        assert "flashinfer-python" in change.key
        assert change.risk is Effect.OUTPUT

    def test_a_lock_kept_in_the_base_config_changes_its_fingerprint(self) -> None:
        tree = {**base("A11/base.yaml"), "environment": {"packages": "requirements.lock"}}
        before, after = (
            digest("base", tree, {"base/tern/requirements.lock": data(f"A11/{side}/requirements.lock")})
            for side in ("before", "after")
        )
        assert before != after

    def test_the_check_warns_of_auto(self) -> None:
        (finding,) = told(checked({"base": base("A11/base.yaml")}), "TL230")
        assert "packages" in finding.message

    def test_resolved_kernels_differ(self) -> None:
        before, after = (
            json.loads(data(f"A11/runtime-{side}.json"))["resolved"] for side in ("before", "after")
        )
        (finding,) = resolved_differs(after, golden=before)
        assert "decode_kernel" in finding.message

    def test_a_declared_backend_that_was_ignored_is_refused(self) -> None:
        runtime = json.loads(data("A11/runtime-ignored.json"))
        (finding,) = resolved_differs(runtime["resolved"], declared=runtime["declared"])
        assert finding.blocks
        assert "FLASH_ATTN" in finding.message
        assert "FLASHINFER" in finding.message


class TestA12:
    """Variables that change kernels, that are noise, that are secrets."""

    def tree(self, name: str) -> dict[str, Any]:
        """The deployment as a base tier; the password in clear is what the case is about."""
        return mapping.deployment(mapping.neutral(data(f"A12/{name}.yaml")))

    @pytest.mark.parametrize(
        ("after", "same"),
        [("after_kernel", False), ("after_tf32", False), ("after_loglevel", True), ("after_secret", True)],
    )
    def test_the_fingerprint_moves_with_kernels_only(self, after: str, same: bool) -> None:
        assert (digest("base", self.tree("before")) == digest("base", self.tree(after))) is same

    def test_the_check_finds_the_variable_that_no_option_says(self) -> None:
        keys = [finding.key for finding in told(checked({"base": self.tree("before")}), "TL901")]
        assert "environment.variables.VLLM_ATTENTION_BACKEND" in keys

    def test_a_password_in_clear_blocks_and_is_never_shown(self) -> None:
        report = checked({"base": self.tree("before")})
        (finding,) = told(report, "TL905")
        assert finding.blocks
        assert "UPLOAD_PASSWORD" in finding.message
        for rendered in (as_text(report), as_json(report)):
            assert not any(password in rendered for password in PASSWORDS)

    def test_no_diff_shows_a_password(self) -> None:
        rest = {"sampling": {"kind": "sampling"}, "prompts": {"kind": "prompts", "system": "x\n"}}
        sides = [
            state(name, repository({"base": self.tree(name), **rest})) for name in ("before", "after_secret")
        ]
        report = compare(*sides)
        for rendered in (as_text(report), as_json(report)):
            assert not any(password in rendered for password in PASSWORDS)

    def test_importing_the_deployment_neither_fails_nor_leaks(self) -> None:
        result = import_sources({"deployment.yaml": data("A12/after_secret.yaml")})
        written = b"\n".join(result.files.values()).decode() + as_text(result.report) + as_json(result.report)
        assert not any(password in written for password in PASSWORDS)
        assert not any(finding.code == "TL090" for finding in result.report.findings)


class TestA14:
    """The context window is unset, and prompts are cut with status 200."""

    result = import_sources({"Modelfile": data("A14/Modelfile")})

    def test_the_import_says_that_the_context_is_not_pinned(self) -> None:
        (value,) = [each for each in self.result.report.values if "max_model_len" in each.key]
        assert isinstance(value.value, Unknown)
        assert "num_ctx" in value.value.reason

    def test_what_the_file_says_is_taken_over_exactly(self) -> None:
        files = MemoryTree(self.result.files)
        repository = load_repository(files)
        (sampling,) = [c for c in repository.configs.values() if c.id.tier == "sampling"]
        assert sampling.tree["repetition_penalty"] == 1.0
        assert sampling.tree["stop"] == ["<|im_end|>"]
        (prompts,) = [c for c in repository.configs.values() if c.id.tier == "prompts"]
        assert prompts.tree["system"] == "你是快递客服。"

    def test_the_check_warns_until_it_is_pinned(self) -> None:
        tree: dict[str, Any] = {
            "kind": "base",
            "model": {"id": "tern-chat:14b"},
            "engine": {"name": "ollama", "version": "0.12.11"},
        }
        (finding,) = told(checked({"base": tree}), "TL232")
        assert "200" in finding.message
        tree["engine"]["options"] = {"max_model_len": 8192}
        assert told(checked({"base": tree}), "TL232") == []


class TestA16:
    """An adapter loads without an error and does nothing."""

    files: ClassVar[dict[str, Any]] = {
        "base/tern/refund/adapter_config.json": data("A16/adapters/refund/adapter_config.json"),
    }

    def test_the_check_finds_modules_that_do_not_overlap(self) -> None:
        (finding,) = told(checked({"base": base("A16/base.yaml")}, self.files), "TL205")
        assert finding.blocks
        assert "`down_proj`" in finding.message
        assert "`qkv_proj`" in finding.message

    def test_the_order_of_keys_means_nothing(self) -> None:
        first, second = (
            digest("base", base(f"A16/{name}.yaml"), self.files) for name in ("base", "base_reordered")
        )
        assert first == second

    @pytest.mark.parametrize(
        ("key", "value"), [("name", "other"), ("path", "adapters/x"), ("revision", "0" * 40)]
    )
    def test_name_path_and_revision_are_in_the_fingerprint(self, key: str, value: str) -> None:
        tree = base("A16/base.yaml")
        before = digest("base", tree, self.files)
        tree["model"]["adapters"][0][key] = value
        assert digest("base", tree, self.files) != before


class TestA18:
    """Temperature 0 and a fixed seed, and outputs still vary under load."""

    trees: ClassVar[dict[str, Any]] = {
        "base": {
            **base("A01/after/base.yaml"),
        },
        "sampling": {"kind": "sampling", "deterministic": True, "temperature": 0.0, "seed": 42},
        "prompts": {"kind": "prompts", "system": "Answer.\n"},
    }

    def test_the_configuration_did_not_drift(self) -> None:
        first, second = (
            fingerprint_of(load_repository(repository(self.trees)).services["tern"]) for _ in range(2)
        )
        for layer in ("base", "sampling", "prompts"):
            assert first.layers[layer] == second.layers[layer]
        report = compare(*(state(name, repository(self.trees)) for name in ("then", "now")))
        assert report.changes == ()

    def test_the_claim_is_met_with_the_explanation(self) -> None:
        report = checked(self.trees)
        (finding,) = told(report, "TL323")
        assert finding.severity is Severity.WARNING
        assert "depend on the batch" in finding.message


class TestA19:
    """The stop-token list in the model repository changes."""

    tree: ClassVar[dict[str, Any]] = {
        "kind": "base",
        "model": {"id": "acme/tern-7b-chat", "generation_config": {"file": "generation_config.json"}},
        "engine": {"name": "vllm", "version": "0.8.4"},
    }

    def digest(self, side: str) -> str:
        file = data(f"A19/{side}/generation_config.json")
        return digest("base", self.tree, {"base/tern/generation_config.json": file})

    def test_the_fingerprint_differs(self) -> None:
        assert self.digest("before") != self.digest("after")

    def test_the_diff_names_the_id_that_is_gone(self) -> None:
        report = compare(
            file_side("A19/before/generation_config.json"), file_side("A19/after/generation_config.json")
        )
        (change,) = report.changes
        assert change.key == "eos_token_id"
        assert (change.before, change.after) == ([2, 32007], 2)

    def test_another_order_means_the_same(self) -> None:
        """The bytes of a kept file enter its digest; a diff of the two says that they mean the same."""
        report = compare(
            file_side("A19/before/generation_config.json"), file_side("A19/reordered/generation_config.json")
        )
        assert report.changes == ()
        assert "same meaning" in report.summary
