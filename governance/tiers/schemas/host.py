"""Base tier, the host: image, hardware class and environment the server needs.

- An image is what a digest names; mounts and installs at start lie on top of it and are listed.
- Environment variables that shape answers are here; secrets are references (`env:NAME`).
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from governance.tiers.schemas import forms
from governance.tiers.schemas.field import (
    LATENCY,
    NONE,
    AboveZero,
    Closed,
    Digest,
    EnvironmentName,
    Line,
    Positive,
    RelativePath,
    Spec,
    Text,
    VersionRange,
    Word,
    absent,
)

ComputeCapability = Annotated[str, Field(pattern=forms.CAPABILITY.pattern)]


class Mount(Closed):
    """A file or folder laid over the image."""

    source: Annotated[Line, Spec("what is mounted: path, volume or object")]
    target: Annotated[
        Line, Spec("where it appears in the container; over code, it replaces what the digest names")
    ]
    read_only: Annotated[bool, Spec("whether the server can change it")] = absent()
    digest: Annotated[Digest, Spec("digest of what is mounted")] = absent()


class Image(Closed):
    """The container image, and everything laid over it at start."""

    ref: Annotated[
        Line,
        Spec(
            "which image runs; only a digest names one image for ever",
            also=("image", "repository"),
            example="registry.example/vllm@sha256:…",
        ),
    ]
    platform: Annotated[Line, Spec("platform of a multi-platform image", example="linux/amd64")] = absent()
    entrypoint: Annotated[list[Line], Spec("program of the container, where it is not the image's own")] = (
        absent()
    )
    mounts: Annotated[list[Mount], Spec("what is laid over the image", also=("volumes",))] = absent()
    install_at_start: Annotated[
        list[Line], Spec("packages installed when the container starts: another day, other packages")
    ] = absent()
    pull_policy: Annotated[Literal["always", "missing", "never"], Spec("when the image is fetched", NONE)] = (
        absent()
    )


class Hardware(Closed):
    """The class of machine the values were accepted on."""

    device: Annotated[
        Literal["cpu", "cuda", "rocm", "xpu", "tpu", "hpu", "npu", "neuron", "metal", "vulkan", "sycl"],
        Spec("kind of accelerator; another kind runs other kernels"),
    ] = absent()
    gpu: Annotated[
        Line, Spec("model of the accelerator; `auto` values depend on it", example="NVIDIA L40S")
    ] = absent()
    count: Annotated[Positive, Spec("accelerators of one replica", unit="devices")] = absent()
    memory_gib: Annotated[AboveZero, Spec("memory of one accelerator", unit="GiB")] = absent()
    compute_capability: Annotated[ComputeCapability, Spec("decides which kernels can run")] = absent()
    mig: Annotated[Line, Spec("MIG profile: a slice of an accelerator", example="1g.10gb")] = absent()
    driver: Annotated[VersionRange, Spec("driver versions accepted", example=">=535,<560")] = absent()
    cuda: Annotated[VersionRange, Spec("CUDA runtime versions accepted", example=">=12.4,<13")] = absent()
    cudnn: Annotated[VersionRange, Spec("cuDNN versions accepted")] = absent()
    nccl: Annotated[VersionRange, Spec("NCCL versions accepted; the order of sums between GPUs is its")] = (
        absent()
    )
    rocm: Annotated[VersionRange, Spec("ROCm versions accepted")] = absent()
    interconnect: Annotated[
        Literal["nvlink", "nvswitch", "pcie", "infiniband", "roce", "ethernet", "none"],
        Spec("what links the accelerators; some all-reduce kernels need one kind"),
    ] = absent()
    nodes: Annotated[Positive, Spec("machines of one replica", unit="machines", also=("nnodes",))] = absent()
    cpu: Annotated[Line, Spec("processor model; on CPU it decides the kernels")] = absent()
    cpu_features: Annotated[
        list[Word],
        Spec("instruction sets that must be there, a set", unordered=True, example=["avx512_bf16"]),
    ] = absent()
    numa: Annotated[Word, Spec("how threads and memory are bound to NUMA nodes", LATENCY)] = absent()


class Environment(Closed):
    """Packages and environment variables of the serving process."""

    packages: Annotated[
        RelativePath,
        Spec(
            "lock file in the config's own folder: every distribution with its version",
            example="requirements.lock",
        ),
    ] = absent()
    python: Annotated[VersionRange, Spec("interpreter versions accepted")] = absent()
    variables: Annotated[
        dict[EnvironmentName, Text],
        Spec(
            "variables that shape answers, as text; a secret is written env:NAME",
            also=("env", "environment"),
            example={"VLLM_ATTENTION_BACKEND": "FLASH_ATTN"},
        ),
    ] = absent()
