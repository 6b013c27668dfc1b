"""The words each engine has for what a request says: literal tables, no logic.

Sources: the request models in the engines' own packages (`defaults/*.json`, table `request`) for vLLM, SGLang
and Ollama; `common/arg` and `server-task.cpp` of llama.cpp b10434; `router/src/lib.rs` of TGI 3.3;
`cli/serve.py` of transformers 5; `openai_protocol.py` of TensorRT-LLM 1.2.
"""

from __future__ import annotations

from typing import Final

from governance.values import Json

# Sampling keys that the OpenAI interface has under the same name.
OPENAI: Final = (
    *("temperature", "top_p", "presence_penalty", "frequency_penalty", "seed", "n", "max_tokens", "stop"),
    *("logit_bias", "logprobs", "top_logprobs", "parallel_tool_calls", "tool_choice", "reasoning_effort"),
    "stream",
)
_TOKENS: Final = (
    *("min_tokens", "stop_token_ids", "ignore_eos", "include_stop_str_in_output", "skip_special_tokens"),
    "spaces_between_special_tokens",
)


def _same(*names: str) -> dict[str, str]:
    return {name: name for name in names}


# Sampling key (`dry.multiplier`) -> the field of a request, by engine.
FIELDS: Final[dict[str, dict[str, str]]] = {
    "vllm": {
        **_same(*OPENAI, *_TOKENS, "top_k", "min_p", "repetition_penalty", "length_penalty", "best_of"),
        **_same("bad_words", "allowed_token_ids", "prompt_logprobs", "truncate_prompt_tokens"),
        **_same("logits_processors"),
        "thinking_budget": "thinking_token_budget",
    },
    "sglang": {
        **_same(*OPENAI, "top_k", "min_p", "repetition_penalty", "min_tokens", "stop_token_ids"),
        **_same("ignore_eos", "skip_special_tokens"),
        "include_stop_str_in_output": "no_stop_trim",
    },
    "llama.cpp": {
        **_same(*OPENAI, "top_k", "min_p", "typical_p", "top_n_sigma", "samplers", "ignore_eos"),
        "repetition_penalty": "repeat_penalty",
        "repetition_window": "repeat_last_n",
        "dry.multiplier": "dry_multiplier",
        "dry.base": "dry_base",
        "dry.allowed_length": "dry_allowed_length",
        "dry.penalty_last_n": "dry_penalty_last_n",
        "dry.sequence_breakers": "dry_sequence_breakers",
        "xtc.probability": "xtc_probability",
        "xtc.threshold": "xtc_threshold",
        "mirostat.mode": "mirostat",
        "mirostat.tau": "mirostat_tau",
        "mirostat.eta": "mirostat_eta",
        "dynamic_temperature.range": "dynatemp_range",
        "dynamic_temperature.exponent": "dynatemp_exponent",
        "thinking_budget": "thinking_budget_tokens",
        "use_cache": "cache_prompt",
    },
    "tgi": _same(
        *("temperature", "top_p", "presence_penalty", "frequency_penalty", "seed", "max_tokens", "stop"),
        *("logprobs", "top_logprobs", "tool_choice", "stream"),
    ),
    "transformers": _same(
        *("temperature", "top_p", "seed", "max_tokens", "stop", "logit_bias", "frequency_penalty", "stream")
    ),
    "ollama": _same(
        *("temperature", "top_p", "presence_penalty", "frequency_penalty", "seed", "max_tokens", "stop"),
        *("logprobs", "top_logprobs", "reasoning_effort", "stream"),
    ),
    "tensorrt-llm": {
        **_same(*OPENAI, *_TOKENS, "top_k", "min_p", "repetition_penalty", "length_penalty", "best_of"),
        **_same("truncate_prompt_tokens"),
    },
}

# Engines whose beam search is asked for in a request: `use_beam_search`, with `n` as the width.
BEAMS: Final = frozenset({"vllm", "tensorrt-llm"})

# Keys of the prompts tier that are fields of a request, by engine; `tools` are taken by all.
PROMPT_FIELDS: Final[dict[str, tuple[str, ...]]] = {
    "vllm": (
        *("chat_template_kwargs", "add_special_tokens", "add_generation_prompt", "continue_final_message"),
        *("documents", "tools"),
    ),
    "sglang": ("chat_template_kwargs", "continue_final_message", "tools"),
    "llama.cpp": ("chat_template_kwargs", "add_generation_prompt", "continue_final_message", "tools"),
    "tensorrt-llm": (
        *("chat_template_kwargs", "add_special_tokens", "add_generation_prompt", "documents", "tools"),
    ),
}

# Values that mean the same and that one engine refuses: (field, value) -> what is sent.
RESPELT: Final[dict[str, dict[tuple[str, Json], Json]]] = {
    "sglang": {("top_k", 0): -1},  # SGLang turns top_k off with -1 and refuses 0
}
# Values that ask for nothing and that one engine refuses: left out, which means the same.
REFUSED_NEUTRAL: Final[dict[str, dict[str, Json]]] = {
    "tgi": {"top_p": 1.0},  # 422: `top_p` must be > 0.0 and < 1.0
}

# What is asked for beside the service's own parameters, where the config leaves it open: it moves no answer.
# llama.cpp answers with 20 alternatives a token unless it is told how many.
EVIDENCE: Final[dict[str, dict[str, Json]]] = {
    "vllm": {"logprobs": True, "return_token_ids": True},
    "sglang": {"logprobs": True, "return_token_ids": True},
    "llama.cpp": {"logprobs": True, "top_logprobs": 1},
    "tgi": {"logprobs": True},
    "ollama": {"logprobs": True},
    "tensorrt-llm": {"logprobs": True},
}

# The parameters `/v1/responses` has, under its own names.
RESPONSES: Final[dict[str, str]] = {
    **_same("temperature", "top_p", "stream", "parallel_tool_calls", "tool_choice"),
    "max_tokens": "max_output_tokens",
}
