"""A small governed repository for tests: one service on vLLM, whose model brings its own defaults."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from governance.release.sides import Place
from tests.support.repos import Repo, isolated, make_repo

GENERATION = {"temperature": 0.7, "top_p": 0.8, "top_k": 20, "repetition_penalty": 1.05}
BASE = """\
kind: base
# the model, and what runs it
model:
  id: Qwen/Qwen2.5-7B-Instruct
  revision: a09a35458c702b33eeacc393d103063234e8bc28
  generation_config: {file: generation_config.json}
engine:
  name: vllm
  version: "0.7.3"
  options:
    max_model_len: 8192
"""
SAMPLING = """\
kind: sampling
task: factual
temperature: 0.2
max_tokens: 256
stop_token_ids: [2, 32007, 32000]
"""
PROMPTS = """\
kind: prompts
system: {file: system.md}
template:
  text: |
    Summarize the article.

    {{ article }}
  variables: {article: text}
"""
SERVICES = """\
version: 1
services:
  summarizer: {base: qwen, sampling: factual, prompts: summarize}
"""
FILES = {
    "tierlock.yaml": SERVICES,
    "configs/base/qwen.yaml": BASE,
    "configs/base/qwen/generation_config.json": json.dumps(GENERATION),
    "configs/sampling/factual.yaml": SAMPLING,
    "configs/prompts/summarize.yaml": PROMPTS,
    "configs/prompts/summarize/system.md": "You answer briefly.\nNever guess.\n",
}


def governed(path: Path, files: Mapping[str, str] | None = None) -> Repo:
    """A repository with `FILES` (changed by `files`) committed and tagged v1."""
    repo = make_repo(path, files={**FILES, **(files or {})})
    repo.git("tag", "v1")
    return repo


def release(repo: Repo, tag: str, files: Mapping[str, str]) -> None:
    """Commit `files` and tag the commit."""
    repo.commit(tag, files)
    repo.git("tag", tag)


def place(repo: Repo) -> Place:
    """Where words mean something, standing in the repository, git isolated from the user's settings."""
    return Place(repo.path, here=repo.path, environ=isolated())
