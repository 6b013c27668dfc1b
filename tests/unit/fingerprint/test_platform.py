"""The parts of the platform layer, what contradicts what, and that no secret is kept."""

from __future__ import annotations

import pytest

from governance.fingerprint.freeze import from_list
from governance.fingerprint.gpu import Gpu, Gpus
from governance.fingerprint.platform import (
    Framework,
    Platform,
    choose_variables,
    contradictions,
    cpu_features,
    cpu_model,
    dpkg_packages,
    framework_of,
    from_json,
    layer_value,
    os_release,
    parts,
    to_json,
    torch_build,
)
from governance.values import Unknown

L40S = Gpus("535.183.06", "12.2", (Gpu("NVIDIA L40S", 46068, "8.9", "GPU-1"),), "NVML")
NONE = Gpus("", "", (), "no GPU device")
INTERPRETER = {"version": "3.12.4", "libc": "glibc 2.36"}
VERSION_PY = b"""from typing import Optional

__all__ = ['__version__', 'debug', 'cuda', 'git_version', 'hip', 'xpu']
__version__ = '2.6.0+cu124'
debug = False
cuda: Optional[str] = '12.4'
git_version = '1eba9b3aa3c43f86f4a2c807ac8e12c4a7767340'
hip: Optional[str] = None
xpu: Optional[str] = None
"""


def platform(gpus: Gpus | Unknown = L40S, **more: object) -> Platform:
    return Platform(INTERPRETER, gpus, **{"os_packages": {}, **more})  # type: ignore[arg-type]


def test_torch_tells_its_cuda_without_being_imported() -> None:
    assert torch_build(VERSION_PY) == {"version": "2.6.0+cu124", "cuda": "12.4"}
    assert torch_build(b"__version__ = '2.6.0+rocm6.2'\ncuda = None\nhip = '6.2.41133'\n") == {
        "version": "2.6.0+rocm6.2",
        "hip": "6.2.41133",
    }
    assert torch_build(b"\xff not python") == {}


def test_cudnn_and_nccl_come_from_wheels_then_from_the_operating_system() -> None:
    packages = from_list(b"nvidia-cudnn-cu12==9.1.0.70\n", "f")
    found = framework_of(packages, VERSION_PY, {"libcudnn9-cuda-12": "9.3", "libnccl2": "2.21.5-1+cuda12.4"})
    assert found == Framework("2.6.0+cu124", "12.4", "", "9.1.0.70", "2.21.5-1+cuda12.4")


def test_a_gpu_that_cannot_be_asked_makes_the_layer_unknown() -> None:
    value = layer_value(platform(Unknown("no permission")))
    assert isinstance(value, Unknown)
    assert value.reason == "no permission"


def test_the_driver_moves_its_own_part_only() -> None:
    newer = Gpus("550.54.15", "12.4", L40S.gpus, "NVML")
    before, after = parts(platform()), parts(platform(newer))
    assert {name for name in before if before[name] != after[name]} == {"driver"}


def test_evidence_and_the_serial_number_of_a_card_move_nothing() -> None:
    other = Gpus("535.183.06", "12.2", (Gpu("NVIDIA L40S", 46068, "", "GPU-9"),), "nvidia-smi")
    assert layer_value(platform()) == layer_value(platform(other, evidence={"kernel": "6.1"}))


def test_cpu_features_count_only_where_the_cpu_computes() -> None:
    assert layer_value(platform(cpu=("avx2",))) == layer_value(platform(cpu=("avx2", "avx512f")))
    assert layer_value(platform(NONE, cpu=("avx2",))) != layer_value(platform(NONE, cpu=("avx2", "avx512f")))


def test_cpu_facts_are_read() -> None:
    info = (
        b"processor : 0\nmodel name\t: AMD EPYC 9J14\nflags : fpu avx2 avx512f amx_tile sse\nprocessor : 1\n"
    )
    assert cpu_features(info) == ("avx2", "avx512f", "amx_tile")
    assert cpu_model(info) == "AMD EPYC 9J14"
    assert cpu_features(b"") == ()
    assert os_release(b'ID=debian\nVERSION_ID="12"\nX=y\n') == "debian 12"


STATUS = b"""Package: libcudnn9-cuda-12
Status: install ok installed
Version: 9.1.0.70-1

Package: libnccl2
Status: deinstall ok config-files
Version: 2.21.5-1

Package: vim
Status: install ok installed
Version: 9
"""


def test_installed_os_packages_that_shape_answers_are_collected() -> None:
    assert dpkg_packages(STATUS) == {"libcudnn9-cuda-12": "9.1.0.70-1"}
    assert dpkg_packages(b"libcudnn9-cuda-12 9.3.0.75-1\nvim 9\n") == {"libcudnn9-cuda-12": "9.3.0.75-1"}


def test_variables_that_shape_answers_enter_and_secrets_do_not() -> None:
    entered, evidence = choose_variables(
        {
            "VLLM_ATTENTION_BACKEND": "FLASH_ATTN",
            "VLLM_LOGGING_LEVEL": "DEBUG",
            "HF_TOKEN": "hf_" + "a" * 34,
            "UPLOAD_PASSWORD": "not-a-real-password-1234",
            "VLLM_SOMETHING": "https://user:pass1234word@host.example",
            "CUDA_VISIBLE_DEVICES": "3",
            "COMPANY_THING": "1",
        }
    )
    assert entered == {"VLLM_ATTENTION_BACKEND": "FLASH_ATTN"}
    assert evidence == {
        "secret variables": ["HF_TOKEN", "UPLOAD_PASSWORD", "VLLM_SOMETHING"],
        "unclassified variables": ["COMPANY_THING"],
    }


def codes(found: Platform, freeze: bytes) -> list[str]:
    return [f.code for f in contradictions(found, from_list(freeze, "f"))]


CPU, BARE = b"torch==2.6.0+cpu\n", b"torch==2.6.0\n"


def built(torch: str, cuda: str = "") -> Platform:
    return platform(framework=Framework(torch, cuda))


@pytest.mark.parametrize(
    ("what", "found", "freeze", "expected"),
    [
        ("a CPU build on a GPU host", platform(), CPU, ["TL954"]),
        ("a CPU build beside a GPU that cannot be asked", platform(Unknown("x")), CPU, ["TL954"]),
        ("a CPU build on a CPU host", platform(NONE), CPU, []),
        ("a build nobody tells", platform(NONE), BARE, ["TL953"]),
        ("a build the framework tells", built("2.6.0", "12.2"), BARE, []),
        ("a framework that has no CUDA on a GPU host", built("2.6.0"), BARE, ["TL954"]),
        ("a CUDA newer than the driver", built("2.6.0+cu124", "12.4"), b"", ["TL955"]),
        ("a CUDA as new as the driver", built("2.6.0", "12.2"), b"", []),
        ("a CUDA 11 under a CUDA 12 driver", built("2.0", "11.8"), b"", []),
        ("no package list of the system", platform(os_packages=None), b"", ["TL980"]),
        ("a secret in the environment", platform(evidence={"secret variables": ["X"]}), b"", ["TL981"]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_contradictions_are_noticed(what: str, found: Platform, freeze: bytes, expected: list[str]) -> None:
    assert codes(found, freeze) == expected


def test_cuda_12_10_is_newer_than_12_9() -> None:
    gpus = Gpus("1", "12.9", L40S.gpus, "")
    assert codes(platform(gpus, framework=Framework("2", "12.10")), b"") == ["TL955"]


@pytest.mark.parametrize("gpus", [L40S, NONE, Unknown("no permission")])
def test_a_record_gives_the_platform_back(gpus: Gpus | Unknown) -> None:
    found = platform(
        gpus, framework=Framework("2.6.0", "12.4"), variables={"A": "1"}, evidence={"os": "debian 12"}
    )
    again = from_json(to_json(found))
    assert to_json(again) == to_json(found)
    assert str(layer_value(again)) == str(layer_value(found))
