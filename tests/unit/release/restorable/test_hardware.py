"""Whether this host is of the class that a release was accepted on."""

from __future__ import annotations

import pytest

from governance.fingerprint.gpu import Gpu, Gpus, Slice
from governance.release.restorable.hardware import check_hardware
from governance.values import Unknown
from governance.verdict import Check, Outcome
from tests.support.drilled import service, subject, world

L40S = Gpu("NVIDIA L40S", 46068, "8.9")
H100 = Gpu("NVIDIA H100 80GB HBM3", 81559, "9.0", mig=(Slice(16, 9856),))


def judged(hardware: str, *gpus: Gpu, driver: str = "process", **near: object) -> Check:
    text = f"hardware: {{{hardware}}}\n" if hardware else ""
    host = Gpus("550.54", "12.4", gpus, "NVML")
    return check_hardware(
        subject(service(text, f"{{driver: {driver}}}")), world(**{"gpus": lambda: host, **near})
    )


@pytest.mark.parametrize(
    ("hardware", "gpus", "outcome"),
    [
        ("", (), Outcome.PASS),
        ("device: cpu", (), Outcome.PASS),
        ("device: cuda", (), Outcome.BLOCK),
        ("device: cuda", (L40S,), Outcome.PASS),
        ("device: cuda, gpu: NVIDIA L40S", (L40S,), Outcome.PASS),
        ("gpu: L40S, count: 2", (L40S, L40S), Outcome.PASS),
        ("gpu: L40S, count: 2", (L40S, H100), Outcome.BLOCK),
        ("gpu: L40S, count: 1", (H100, L40S), Outcome.PASS),
        ("gpu: L40", (L40S,), Outcome.BLOCK),
        ("gpu: H100", (H100,), Outcome.PASS),
        ("gpu: L40S, memory_gib: 48", (L40S,), Outcome.PASS),
        ("gpu: L40S, memory_gib: 80", (L40S,), Outcome.BLOCK),
        ('gpu: L40S, compute_capability: "8.9"', (L40S,), Outcome.PASS),
        ('gpu: L40S, compute_capability: "8.0"', (L40S,), Outcome.BLOCK),
        ('gpu: H100, mig: "1g.10gb"', (H100,), Outcome.PASS),
        ('gpu: H100, mig: "3g.40gb"', (H100,), Outcome.BLOCK),
        ('gpu: L40S, mig: "1g.10gb"', (L40S,), Outcome.BLOCK),
        ('device: cuda, driver: ">=535,<560"', (L40S,), Outcome.PASS),
        ('device: cuda, driver: ">=560"', (L40S,), Outcome.BLOCK),
        ("device: rocm", (L40S,), Outcome.UNDECIDED),
        ("device: cpu, cpu: AMD EPYC", (), Outcome.PASS),
        ("device: cpu, cpu: Xeon", (), Outcome.BLOCK),
        ("device: cpu, cpu_features: [avx2, avx512f]", (), Outcome.PASS),
        ("device: cpu, cpu_features: [avx2, amx_bf16]", (), Outcome.BLOCK),
    ],
)
def test_a_host_is_held_to_what_the_base_config_asks_for(
    hardware: str, gpus: tuple[Gpu, ...], outcome: Outcome
) -> None:
    check = judged(hardware, *gpus)
    assert check.outcome is outcome, check.detail


def test_what_is_missing_is_named_with_what_is_here() -> None:
    assert judged("gpu: NVIDIA L40S, count: 2", L40S).detail == "2 asked for, 1 here"
    assert (
        judged("gpu: L40S", H100).detail
        == "1 asked for, 0 here: gpu: L40S is asked for, here is NVIDIA H100 80GB HBM3"
    )
    assert judged("gpu: L40S", gpus=lambda: Gpus("", "", (), "no GPU device")).detail == (
        "L40S is asked for, here is no GPU (no GPU device)"
    )
    assert judged("device: cpu, cpu_features: [amx_bf16]").detail == "cpu_features: amx_bf16 not here"


def test_a_gpu_that_cannot_be_asked_is_undecided() -> None:
    check = judged("device: cuda", gpus=lambda: Unknown("a GPU is there and cannot be asked"))
    assert check == Check("hardware", Outcome.UNDECIDED, "a GPU is there and cannot be asked")


@pytest.mark.parametrize("driver", ["kubernetes", "command", "none"])
def test_a_class_that_another_host_must_have_is_not_judged_by_this_one(driver: str) -> None:
    check = judged("gpu: L40S, count: 2", L40S, driver=driver)
    assert check.outcome is Outcome.UNDECIDED
    assert check.detail.startswith("2 x L40S is asked for")
    assert judged("device: cpu", driver=driver).outcome is Outcome.PASS
