"""Which engine a launch or an image starts, and the version its tag claims.

- A program name is evidence; an image name is evidence where no program is given, since the image starts it.
- Variables of one engine's own family come next: an image under a house name says nothing else.
- The spelling of the options is the last evidence, and told as a guess: `--model` with options vLLM knows.
- A version read from a tag is what the tag *says*: the importer notes that the image may hold another.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

# Words of a command line -> engine. The first match from the left decides.
_PROGRAMS: Final[tuple[tuple[str, str], ...]] = (
    (r"(?:.*/)?vllm", "vllm"),
    (r"vllm\.entrypoints\..*", "vllm"),
    (r"(?:.*/)?sglang", "sglang"),
    (r"sglang\.launch_server", "sglang"),
    (r"sglang_router\..*", ""),
    (r"(?:.*/)?(?:llama-server|llama-server-vulkan|llamafile)", "llama.cpp"),
    (r"llama_cpp\.server", "llama.cpp"),
    (r"(?:.*/)?text-generation-launcher", "tgi"),
    (r"(?:.*/)?transformers", "transformers"),
    (r"(?:.*/)?ollama", "ollama"),
    (r"(?:.*/)?trtllm-serve", "tensorrt-llm"),
    (r"tensorrt_llm\..*", "tensorrt-llm"),
)
_IMAGES: Final[tuple[tuple[str, str], ...]] = (
    (r"tensorrt-?llm|trtllm", "tensorrt-llm"),
    (r"text-generation-inference", "tgi"),
    (r"sglang", "sglang"),
    (r"vllm", "vllm"),
    (r"llama\.cpp|llama-server", "llama.cpp"),
    (r"ollama", "ollama"),
    (r"huggingfaceserver", "transformers"),
)
# Families of variables that only one engine reads.
_FAMILIES: Final[tuple[tuple[str, str], ...]] = (
    ("VLLM_", "vllm"),
    ("SGLANG_", "sglang"),
    ("LLAMA_ARG_", "llama.cpp"),
    ("OLLAMA_", "ollama"),
    ("TLLM_", "tensorrt-llm"),
    ("TRTLLM_", "tensorrt-llm"),
)
# What the engines' own images start when only arguments are given.
PROGRAMS: Final[dict[str, tuple[str, ...]]] = {
    "vllm": ("vllm", "serve"),
    "sglang": ("python3", "-m", "sglang.launch_server"),
    "llama.cpp": ("llama-server",),
    "tgi": ("text-generation-launcher",),
    "transformers": ("transformers", "serve"),
    "ollama": ("ollama", "serve"),
    "tensorrt-llm": ("trtllm-serve",),
}
# How each engine's documentation names the model. SGLang takes `--model` too, and writes `--model-path`.
_MODEL_FLAGS: Final = (("--model-path", "sglang"), ("--model-id", "tgi"), ("--model", "vllm"))
_VERSION: Final = re.compile(r"\d+\.\d+(?:\.\d+)?(?:\.?(?:post|rc|dev|a|b)\d+)*|b\d{4,}")


def from_argv(argv: Sequence[str]) -> str:
    """The engine that `argv` starts, or empty."""
    for word in argv:
        for pattern, engine in _PROGRAMS:
            if re.fullmatch(pattern, word):
                return engine
    return ""


def from_image(image: str) -> str:
    """The engine an image reference names, or empty."""
    repository = image.split("@")[0]
    for pattern, engine in _IMAGES:
        if re.search(pattern, repository, re.IGNORECASE):
            return engine
    return ""


def from_environment(names: Iterable[str]) -> str:
    """The engine whose family of variables is among `names`, or empty when none or several are."""
    found = {engine for name in names for prefix, engine in _FAMILIES if name.startswith(prefix)}
    return found.pop() if len(found) == 1 else ""


def from_options(argv: Sequence[str]) -> str:
    """The engine whose own word for the model is used beside options it knows, every one; or empty.

    One option alone is no evidence, and neither is a program of another name before them.
    """
    from governance.engines import tables

    flags = {word.partition("=")[0] for word in argv if word.startswith("--")}
    if len(flags) < 2 or not argv[0].startswith("-"):
        return ""
    for flag, engine in _MODEL_FLAGS:
        if flag in flags:
            known = {each for option in tables.every_option(engine).options.values() for each in option.flags}
            return engine if flags <= known else ""
    return ""


def version_of(image: str) -> str:
    """The version in the tag (`v0.10.0`, `v0.5.5.post3-cu129-amd64`, `server-b4719`), or empty.

    Google's images carry it in the repository name (`…-inference-cu124.2-3.ubuntu2204`): read as 2.3.
    """
    name = image.split("@")[0].rsplit("/", 1)[-1]
    _, _, tag = name.partition(":")
    if tag:
        found = _VERSION.search(tag)
        return found[0] if found else ""
    deep = re.search(r"\.(\d+)-(\d+)\.(?:ubuntu|debian)", name)
    return f"{deep[1]}.{deep[2]}" if deep else ""
