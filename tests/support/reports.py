"""Reports that renderers are tested on: what a screen shows, and text that tries to break out of it."""

from __future__ import annotations

from governance.values import ABSENT, Effect, Unknown
from governance.verdict import (
    Change,
    Check,
    EffectiveValue,
    Finding,
    LayerState,
    Outcome,
    Report,
    Severity,
)

_OLD, _NEW = "5b0c2e7f91aa" * 5 + "0000", "c93e11d0475b" * 5 + "0000"

MISTAKES = Report(
    "check",
    checks=(Check("files", Outcome.BLOCK),),
    findings=(
        Finding(
            "TL004",
            "`0192117` is read as 192117 by YAML 1.1 and as text by others",
            path="configs/base/qwen-awq.yaml",
            line=4,
            column=13,
            key="model.revision",
            hint='quote it: "0192117"',
            excerpt="  revision: 0192117",
            width=7,
        ),
        Finding(
            "TL402",
            "zero-width space (U+200B) inside a word",
            path="configs/prompts/summarize/system.md",
            line=12,
            column=31,
        ),
        Finding(
            "TL103",
            "unknown key `tempurature`",
            path="configs/sampling/factual.yaml",
            line=6,
            column=1,
            key="tempurature",
            hint="did you mean `temperature`?",
            excerpt="tempurature: 0.1",
            width=11,
        ),
        Finding(
            "TL301",
            "temperature 0.9 is above 0.3, the range of task `factual`",
            severity=Severity.WARNING,
            path="configs/sampling/poems.yaml",
            line=3,
            column=14,
            key="temperature",
            exempted="poems are meant to vary, until 2027-01-31",
        ),
    ),
    summary="3 findings in 3 of 14 configs (52 rules, 1 exemption shown with --exempted)",
    next="tierlock check configs/sampling/factual.yaml",
    run={"version": "0.1.0", "source": "work tree"},
)

CHANGED = Report(
    "diff",
    title="summarizer   v41 5b0c2e7f91aa → v42 c93e11d0475b",
    checks=(Check("compared", Outcome.PASS),),
    layers=(
        LayerState("base", "same", _OLD, _OLD),
        LayerState("sampling", "same", _OLD, _OLD),
        LayerState("prompts", "changed", _OLD, _NEW),
        LayerState("effective", "changed", _OLD, _NEW),
        LayerState("weights", "same", _OLD, _OLD),
        LayerState("packages", "changed", _OLD, _NEW, "vllm 0.7.3 → 0.8.2"),
        LayerState("platform", "unknown", Unknown("no capture of this host"), _NEW),
        LayerState("image", "changed", f"sha256:{_OLD}", f"sha256:{_NEW}", "tag v0.8 moved"),
    ),
    changes=(
        Change(
            "effective",
            "sampling.top_p",
            1.0,
            0.8,
            "engine default (vllm 0.7.3)",
            "generation_config.json of the model",
            effect="narrower nucleus",
        ),
        Change(
            "effective",
            "sampling.top_k",
            -1,
            20,
            "engine default (vllm 0.7.3)",
            "generation_config.json of the model",
            effect="fewer candidates per token",
        ),
        Change(
            "effective",
            "engine.options.max_num_seqs",
            Unknown("vllm 0.7.3 chooses by GPU"),
            256,
            after_from="engine default (vllm 0.8.2)",
            risk=Effect.LATENCY,
        ),
        Change(
            "prompts",
            "system.md",
            "Answer in three sentences.",
            "Answer in three sentences.\n",
            path="configs/prompts/summarize/system.md",
            line=1,
            text=("- sentences.", "+ sentences.\\n"),
            effect="the system text ends in one newline more",
        ),
    ),
    notes=("pinned, so unmoved: temperature 0.2, max_tokens 256",),
    summary="RISK output  4 values move in 2 layers",
    next="tierlock resolve summarizer --at v41 --write",
    run={"version": "0.1.0"},
)

RESOLVED = Report(
    "resolve",
    title="summarizer at work tree",
    checks=(Check("resolved", Outcome.PASS),),
    values=(
        EffectiveValue("sampling.temperature", 0.1, 0.1, "config"),
        EffectiveValue("sampling.top_k", 20, "inherit", "generation_config.json of the model"),
        EffectiveValue("sampling.stop", ["\n", "</s>"], ["\n", "</s>"], "config"),
        EffectiveValue(
            "sampling.seed", ABSENT, ABSENT, "nobody sets it", note="answers vary from run to run"
        ),
        EffectiveValue(
            "engine.options.attention", Unknown("depends on the GPU"), ABSENT, "depends on the GPU"
        ),
    ),
    summary="5 values: 2 from the config, 1 from the model, 1 not set, 1 unknown",
    run={"version": "0.1.0"},
)

UNJUDGED = Report(
    "check",
    checks=(
        Check("history", Outcome.UNDECIDED, "the clone is shallow: commit 5d1e9c (merge base) is not here"),
    ),
    next="git fetch --unshallow",
    run={"version": "0.1.0"},
)

NOTHING = Report("check")

GOOD = Report(
    "check",
    checks=(Check("files", Outcome.PASS), Check("services", Outcome.PASS)),
    summary="14 configs, 3 services, 52 rules",
    run={"version": "0.1.0"},
)

_EVIL = 'a`|b\n::error::x%0A,c:d <img src=x> @all "]]>\x1b[31m\x00\ud800\u202e ##[x](y) 日本'
HOSTILE = Report(
    "check",
    title=_EVIL,
    checks=(Check(_EVIL, Outcome.BLOCK, _EVIL), Check("b", Outcome.UNDECIDED, _EVIL)),
    findings=(
        Finding(
            "TL103", _EVIL, path=_EVIL, line=1, column=3, key=_EVIL, hint=_EVIL, excerpt=_EVIL, width=400
        ),
        Finding("TL104", _EVIL, severity=Severity.NOTE, path="a b/ü.yaml", exempted=_EVIL),
        Finding("TL105", "no place"),
    ),
    layers=(LayerState("base", "changed", _EVIL, Unknown(_EVIL), _EVIL),),
    values=(EffectiveValue(_EVIL, {_EVIL: [_EVIL, 1, 1.0, True, None]}, _EVIL, _EVIL, note=_EVIL),),
    changes=(
        Change(
            "prompts",
            _EVIL,
            _EVIL,
            Unknown(_EVIL),
            _EVIL,
            _EVIL,
            effect=_EVIL,
            path=_EVIL,
            line=2,
            text=(_EVIL,),
        ),
    ),
    scores=({"a": _EVIL}, _EVIL),
    notes=(_EVIL,),
    summary=_EVIL,
    next=_EVIL,
    generated_at="2026-11-30T00:00:00Z",
    run={"version": _EVIL},
)

NAMED = {
    "mistakes": MISTAKES,
    "changed": CHANGED,
    "resolved": RESOLVED,
    "unjudged": UNJUDGED,
    "nothing": NOTHING,
    "good": GOOD,
    "hostile": HOSTILE,
}
