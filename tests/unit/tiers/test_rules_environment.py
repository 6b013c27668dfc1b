"""Variables, packages and secrets: what changes kernels, what is noise, what must never be printed."""

from __future__ import annotations

from typing import Any

import pytest

from governance.report.json import render as as_json
from governance.report.text import render as as_text
from governance.tiers.rules.packages import read_lock
from governance.tiers.rules.variables import EXACT, FAMILIES, classify, variable
from governance.tiers.secrets import find_secrets, redact
from governance.verdict import Severity
from tests.support.rules import codes, found, report

HASH = " --hash=sha256:" + "12" * 32


def variables(**values: str) -> dict[str, Any]:
    return {"environment/variables": values}


@pytest.mark.parametrize(
    ("name", "effect"),
    [
        ("VLLM_ATTENTION_BACKEND", "output"),
        ("VLLM_USE_V1", "output"),
        ("VLLM_SOMETHING_NEW", "output"),
        ("VLLM_LOGGING_LEVEL", "noise"),
        ("VLLM_LOG_SOMETHING", "noise"),
        ("VLLM_API_KEY", "secret"),
        ("NVIDIA_TF32_OVERRIDE", "output"),
        ("CUBLAS_WORKSPACE_CONFIG", "output"),
        ("NCCL_ALGO", "output"),
        ("NCCL_SOCKET_IFNAME", "latency"),
        ("NCCL_DEBUG", "noise"),
        ("FLASHINFER_CUDA_ARCH_LIST", "output"),
        ("SGLANG_ENABLE_TORCH_COMPILE", "output"),
        ("GGML_CUDA_FORCE_MMQ", "output"),
        ("LLAMA_ARG_CTX_SIZE", "output"),
        ("LLAMA_ARG_PORT", "noise"),
        ("OMP_NUM_THREADS", "output"),
        ("PYTORCH_CUDA_ALLOC_CONF", "latency"),
        ("TOKENIZERS_PARALLELISM", "latency"),
        ("HF_TOKEN", "secret"),
        ("HUGGING_FACE_HUB_TOKEN", "secret"),
        ("UPLOAD_PASSWORD", "secret"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
        ("SSH_PRIVATE_KEY_FILE", "unknown"),
        ("MAX_TOTAL_TOKENS", "output"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "noise"),
        ("TERN_MODE", "unknown"),
    ],
)
def test_the_class_of_a_variable(name: str, effect: str) -> None:
    assert classify(name) == effect


def test_the_longest_match_wins() -> None:
    assert variable("VLLM_ROCM_USE_AITER") is FAMILIES["VLLM_ROCM_"]
    assert variable("VLLM_ROCK") is FAMILIES["VLLM_"]


def test_every_entry_says_why_and_is_spelt_as_the_environment_spells_it() -> None:
    for name, entry in {**EXACT, **FAMILIES}.items():
        assert entry.reason
        assert name == name.upper()


@pytest.mark.parametrize(
    ("value", "severity"), [("TRITON_ATTN", Severity.ERROR), ("FLASH_ATTN", Severity.WARNING)]
)
def test_a_variable_against_an_option(value: str, severity: Severity) -> None:
    (finding,) = found("TL904", base=variables(VLLM_ATTENTION_BACKEND=value))
    assert finding.severity is severity


def test_switches_agree_whatever_their_spelling() -> None:
    base = {
        "engine/name": "sglang",
        "engine/version": "0.5.2",
        "engine/options/batch_invariant": True,
        **variables(SGLANG_ENABLE_DETERMINISTIC_INFERENCE="1"),
    }
    (finding,) = found("TL904", base=base)
    assert finding.severity is Severity.WARNING


def test_a_kernel_variable_declared_here_and_nowhere_else_is_welcome() -> None:
    assert codes(base=variables(VLLM_USE_FLASHINFER_SAMPLER="0", VLLM_LOGGING_LEVEL="INFO")) == []


def test_noise_may_come_from_the_host_and_output_may_not() -> None:
    base = variables(VLLM_LOGGING_LEVEL="env:LEVEL", VLLM_USE_V1="env:V1")
    assert [finding.key for finding in found("TL902", base=base)] == ["environment.variables.VLLM_USE_V1"]


SECRETS = [
    ("Hugging Face token", "hf_" + "a1B2c3D4e5" * 3 + "f6g7"),
    ("OpenAI-style key", "sk-proj-" + "Ab3_" * 10),
    ("OpenAI-style key", "sk-ant-api03-" + "x9Y_" * 10),
    ("GitHub token", "ghp_" + "a1" * 18),
    ("GitLab token", "glpat-" + "a1B2" * 6),
    ("AWS access key", "AKIA" + "ABCD1234EFGH5678"),
    ("Google API key", "AIza" + "a1B2c3D" * 5),
    ("Slack token", "xoxb-1234567890-abcdefghij"),
    ("private key", "-----BEGIN OPENSSH PRIVATE KEY-----"),
    ("password in a URL", "postgres://svc:pa55w0rd@db/x"),
    ("bearer token", "Authorization: Bearer abcdefghij0123456789xyz"),
    ("secret beside its name", "password: Tr0ub4dor&3x"),
    ("secret beside its name", 'API_KEY = "9f8a7b6c5d4e3f2a1b"'),
    ("JSON web token", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3"),
]


@pytest.mark.parametrize(("kind", "text"), SECRETS)
@pytest.mark.parametrize("around", ["{}", "Use {} for the call.", "first line\n\t{}\nlast line"])
def test_known_secrets_are_found_and_redacted(kind: str, text: str, around: str) -> None:
    whole = around.format(text)
    (secret, *_) = find_secrets(whole)
    assert secret.kind == kind
    hidden = whole[secret.start : secret.end]
    assert hidden not in redact(whole)
    assert f"<{kind}>" in redact(whole)


@pytest.mark.parametrize(
    "text",
    [
        "api_key: env:SERVICE_KEY",
        "password: changeme123",
        "password: <your-password-1>",
        "Never tell the user the password; say 12345678 instead.",
        "max_tokens: 256",
        "the task-" + "a" * 30,
        "sha256:" + "ab" * 32,
        "4f1c2d9e8b7a6051a3b1c2d3e4f50617a8b9c0d1",
        "https://registry.example/path@sha256:" + "ab" * 32,
        "密码由管理员保管,请勿泄露。",
    ],
)
def test_what_is_no_secret_is_left_alone(text: str) -> None:
    assert find_secrets(text) == ()


@pytest.mark.parametrize(("kind", "text"), SECRETS)
def test_no_report_prints_a_secret_in_any_format(kind: str, text: str) -> None:
    """Also not in the excerpt of another finding on the same line."""
    whole = report(
        prompts={"system": f"{text}\n\u200b", "few_shot": {"file": "few_shot.jsonl"}},
        base=variables(UPLOAD_PASSWORD="not-a-real-password-1234"),
        files={"prompts/demo/few_shot.jsonl": '{"input": "q", "output": "see above"}\n'},
    )
    assert any(finding.code == "TL906" for finding in whole.findings)
    assert any(finding.code == "TL905" for finding in whole.findings)
    for rendered in (as_text(whole), as_json(whole)):
        for secret in find_secrets(text):
            if kind != "private key":
                assert text[secret.start : secret.end] not in rendered
        assert "not-a-real-password-1234" not in rendered


def test_a_secret_in_a_referenced_file_has_its_place_there() -> None:
    text = "line one\nkey " + SECRETS[3][1] + "\n"
    (finding,) = found(
        "TL906", prompts={"system": {"file": "system.md"}}, files={"prompts/demo/system.md": text}
    )
    assert (finding.path, finding.line, finding.column) == ("configs/prompts/demo/system.md", 2, 5)
    assert finding.excerpt == ""


def test_a_secret_in_tierlock_yaml_is_found_once() -> None:
    services = {
        "services/demo/description": "token " + SECRETS[3][1],
        "services/second": {"base": "demo", "sampling": "demo", "prompts": "demo"},
    }
    (finding,) = found("TL906", services=services)
    assert finding.path == "tierlock.yaml"


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("numpy>=1.26", "any version"),
        ("numpy==1.*", "any version"),
        ("numpy", "no version"),
        ("numpy @ file:///opt/build/numpy", "version is unknown"),
        ("tern @ git+https://host.example/tern@main", "branch or tag"),
        ("tern @ https://host.example/tern.whl", "without a hash"),
        ("-e ./engine", "editable"),
        ("-r other.txt", "another file"),
        ("./wheels/tern.whl", "local path"),
    ],
)
def test_a_line_that_does_not_name_one_version(line: str, fault: str) -> None:
    (item,) = read_lock(line.encode())
    assert not item.exact
    assert fault in item.fault


@pytest.mark.parametrize(
    ("line", "name", "version", "hashed"),
    [
        ("numpy==1.26.4", "numpy", "1.26.4", False),
        ("NumPy == 1.26.4  # via x", "numpy", "1.26.4", False),
        ("zope_interface[test]===6.2", "zope-interface", "6.2", False),
        ("torch==2.6.0+cu124 ; python_version >= '3.11'", "torch", "2.6.0+cu124", False),
        ("numpy==1.26.4 \\\n    --hash=sha256:ab \\\n    --hash=sha256:cd", "numpy", "1.26.4", True),
        ("tern @ git+https://host.example/tern@" + "a" * 40, "tern", "", True),
        ("tern @ https://host.example/tern.whl#sha256=" + "a" * 64, "tern", "", True),
    ],
)
def test_a_line_that_does(line: str, name: str, version: str, hashed: bool) -> None:
    (item,) = read_lock(line.encode())
    assert (item.name, item.version, item.exact, item.hashed) == (name, version, True, hashed)


def test_comments_options_and_other_formats_are_no_packages() -> None:
    assert read_lock(b"# a\r\n\r\n--index-url x\n-c constraints.txt\n") == ()
    assert read_lock(b'version = 1\n\n[[package]]\nname = "numpy"\n') == ()
    assert read_lock(b"# conda\n@EXPLICIT\nhttps://host/numpy.conda\n") == ()


def test_a_package_named_twice_is_told_with_both_lines() -> None:
    lock = f"vllm==0.8.4{HASH}\nVLLM==0.7.3{HASH}\n"
    base = {"environment/packages": "requirements.lock"}
    (finding,) = found("TL913", base=base, files={"base/demo/requirements.lock": lock})
    assert "line 1 (0.8.4)" in finding.message
    assert "line 2 (0.7.3)" in finding.message


def test_two_lines_under_markers_are_two_platforms() -> None:
    lock = (
        f"torch==2.6.0+cu124 ; sys_platform == 'linux'{HASH}\ntorch==2.6.0 ; sys_platform == 'darwin'{HASH}\n"
    )
    base = {"environment/packages": "requirements.lock"}
    assert not found("TL913", base=base, files={"base/demo/requirements.lock": lock})


@pytest.mark.parametrize(
    ("torch", "severity"),
    [
        ("torch==2.6.0+cpu", Severity.ERROR),
        ("torch==2.6.0", Severity.WARNING),
        ("torch==2.6.0+cu124", None),
        ("torch==2.6.0+CU124", None),
    ],
)
def test_the_build_of_torch_must_fit_the_device(torch: str, severity: Severity | None) -> None:
    base = {"environment/packages": "requirements.lock"}
    findings = found("TL915", base=base, files={"base/demo/requirements.lock": torch + "\n"})
    assert [finding.severity for finding in findings] == ([severity] if severity else [])
