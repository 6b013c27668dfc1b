"""The sampling tier: every decoding parameter, each a value or the word `inherit`.

- A key that is not there floats: the engine, or the model's own generation_config.json, decides it.
- `inherit` says that this is meant. Both are resolved and shown with their provenance.
- Names are those of the OpenAI interface where it has one, else those most engines share.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from governance.tiers.schemas import forms
from governance.tiers.schemas.field import (
    LATENCY,
    NONE,
    Closed,
    Count,
    Inherit,
    JsonValue,
    Line,
    NotNegative,
    OrUnlimited,
    Penalty,
    Positive,
    Probability,
    Real,
    Share,
    Spec,
    Text,
    TokenId,
    Word,
    absent,
)

Temperature = Annotated[float, Field(ge=0, le=5, allow_inf_nan=False)]
RepetitionPenalty = Annotated[float, Field(gt=0, le=10, allow_inf_nan=False)]
Bias = Annotated[float, Field(ge=-100, le=100, allow_inf_nan=False)]
TokenKey = Annotated[str, Field(pattern=forms.TOKEN_KEY.pattern)]
DecodingKey = Literal[
    "temperature", "top_p", "top_k", "min_p", "typical_p", "top_n_sigma", "top_a", "epsilon_cutoff",
    "eta_cutoff", "repetition_penalty", "repetition_window", "presence_penalty", "frequency_penalty",
    "length_penalty", "no_repeat_ngram_size", "dry", "xtc", "mirostat", "dynamic_temperature", "samplers",
    "seed", "n", "best_of", "beam", "do_sample", "max_tokens", "min_tokens", "stop", "stop_token_ids",
    "ignore_eos", "include_stop_str_in_output", "skip_special_tokens", "spaces_between_special_tokens",
    "bad_words", "logit_bias", "allowed_token_ids", "logprobs", "top_logprobs", "prompt_logprobs",
    "truncate_prompt_tokens", "structured", "reasoning_effort", "thinking_budget", "parallel_tool_calls",
    "tool_choice", "guidance_scale", "watermark", "stream", "use_cache", "logits_processors",
]  # fmt: skip


class Dry(Closed):
    """DRY: a penalty that grows with the length of the repeated sequence."""

    multiplier: Annotated[
        NotNegative, Spec("strength of the penalty on repeated sequences; 0 turns it off")
    ] = absent()
    base: Annotated[NotNegative, Spec("how fast the penalty grows with the length of the repeat")] = absent()
    allowed_length: Annotated[Count, Spec("repeats up to this length are not penalised", unit="tokens")] = (
        absent()
    )
    penalty_last_n: Annotated[
        OrUnlimited, Spec("how far back repeats are looked for; -1 is the whole context", unit="tokens")
    ] = absent()
    sequence_breakers: Annotated[list[Text], Spec("strings that end a repeated sequence")] = absent()


class Xtc(Closed):
    """XTC: drops the most likely tokens now and then."""

    probability: Annotated[Probability, Spec("how often the top choices are dropped; 0 turns it off")] = (
        absent()
    )
    threshold: Annotated[Probability, Spec("only tokens above this probability can be dropped")] = absent()


class Mirostat(Closed):
    """Mirostat: steers the surprise of the text towards a target."""

    mode: Annotated[
        Annotated[int, Field(ge=0, le=2)],
        Spec("0 off, 1 Mirostat, 2 Mirostat 2.0; on, it replaces top_k, top_p, min_p"),
    ] = absent()
    tau: Annotated[NotNegative, Spec("target surprise; lower is more focused text", unit="bits")] = absent()
    eta: Annotated[NotNegative, Spec("how fast the target is approached")] = absent()


class DynamicTemperature(Closed):
    """Temperature that moves with the entropy of the distribution."""

    range: Annotated[NotNegative, Spec("temperature moves this far up and down; 0 turns it off")] = absent()
    exponent: Annotated[NotNegative, Spec("how entropy is mapped to temperature")] = absent()


class Beam(Closed):
    """Beam search."""

    width: Annotated[
        Positive, Spec("number of beams; 1 is no beam search", unit="beams", also=("num_beams",))
    ] = absent()
    groups: Annotated[
        Positive, Spec("groups of beams that are made to differ", also=("num_beam_groups",))
    ] = absent()
    diversity_penalty: Annotated[NotNegative, Spec("how much groups of beams must differ")] = absent()
    early_stopping: Annotated[bool | Literal["never"], Spec("when the search ends")] = absent()


class Structured(Closed):
    """How the output contract of the prompts is enforced while decoding."""

    mode: Annotated[
        Literal["off", "json_object", "json_schema", "regex", "grammar", "choices", "structural_tag"],
        Spec(
            "which part of the output contract constrains the tokens", also=("response_format", "guided_json")
        ),
    ] = absent()
    backend: Annotated[
        Word,
        Spec(
            "library that builds the token mask; they differ in what they allow",
            also=("guided_decoding_backend",),
        ),
    ] = absent()
    strict: Annotated[bool, Spec("whether the schema is enforced or only asked for")] = absent()
    whitespace_pattern: Annotated[
        Line, Spec("which white space the constrained JSON may contain", also=("guided_whitespace_pattern",))
    ] = absent()
    disable_any_whitespace: Annotated[
        bool, Spec("whether constrained JSON is written without white space")
    ] = absent()
    reasoning: Annotated[bool, Spec("whether the constraint also holds inside the reasoning part")] = absent()


class Sampling(Closed):
    """How tokens are drawn."""

    kind: Annotated[Literal["sampling"], Spec("names the tier; must be that of the folder", NONE)]
    description: Annotated[Text, Spec("a note for people", NONE)] = absent()
    task: Annotated[
        Word, Spec("names the profile whose ranges the values must keep", NONE, example="factual")
    ] = absent()
    deterministic: Annotated[
        bool,
        Spec("claims that the same request gives the same answer; rules then ask for what that needs", NONE),
    ] = absent()

    temperature: Annotated[
        Temperature | Inherit,
        Spec("flatter token distribution when raised; 0 is greedy", also=("temp",), example=0.1),
    ] = absent()
    top_p: Annotated[
        Share | Inherit,
        Spec(
            "keeps the smallest set of tokens with this probability; 1 keeps all",
            also=("nucleus",),
            example=1.0,
        ),
    ] = absent()
    top_k: Annotated[
        OrUnlimited | Inherit,
        Spec("keeps this many most likely tokens; 0 or -1 keeps all", unit="tokens", example=40),
    ] = absent()
    min_p: Annotated[
        Probability | Inherit,
        Spec("drops tokens below this fraction of the most likely one; 0 drops none", example=0.05),
    ] = absent()
    typical_p: Annotated[
        Share | Inherit, Spec("keeps tokens of typical information content; 1 keeps all", also=("typical",))
    ] = absent()
    top_n_sigma: Annotated[
        Real | Inherit,
        Spec("keeps logits within n standard deviations of the best; -1 turns it off", also=("nsigma",)),
    ] = absent()
    top_a: Annotated[
        Probability | Inherit, Spec("drops tokens below a fraction of the squared top probability")
    ] = absent()
    epsilon_cutoff: Annotated[Probability | Inherit, Spec("drops tokens below this probability")] = absent()
    eta_cutoff: Annotated[
        Probability | Inherit, Spec("drops tokens below a limit that moves with entropy")
    ] = absent()
    repetition_penalty: Annotated[
        RepetitionPenalty | Inherit,
        Spec(
            "weakens tokens already seen; 1 is none, above it names and numbers that must repeat suffer",
            also=("repeat_penalty", "rep_pen"),
            example=1.0,
        ),
    ] = absent()
    repetition_window: Annotated[
        OrUnlimited | Inherit,
        Spec(
            "how far back the repetition penalty looks; -1 is the whole context, 0 turns it off",
            unit="tokens",
            also=("repeat_last_n", "penalty_last_n"),
        ),
    ] = absent()
    presence_penalty: Annotated[
        Penalty | Inherit, Spec("lowers every token that has appeared, once", also=("presence",))
    ] = absent()
    frequency_penalty: Annotated[
        Penalty | Inherit, Spec("lowers a token by how often it has appeared", also=("frequency",))
    ] = absent()
    length_penalty: Annotated[Real | Inherit, Spec("favours longer beams when above 0")] = absent()
    no_repeat_ngram_size: Annotated[
        Count | Inherit, Spec("forbids any repeat of a sequence of this length; 0 allows all", unit="tokens")
    ] = absent()
    dry: Annotated[Dry | Inherit, Spec("penalty on repeated sequences")] = absent()
    xtc: Annotated[Xtc | Inherit, Spec("drops top choices at random")] = absent()
    mirostat: Annotated[Mirostat | Inherit, Spec("holds the surprise of the text at a target")] = absent()
    dynamic_temperature: Annotated[
        DynamicTemperature | Inherit,
        Spec("temperature that follows entropy", also=("dynatemp_range", "dynatemp")),
    ] = absent()
    samplers: Annotated[
        list[Word] | Inherit, Spec("which samplers run and in which order; the order changes the result")
    ] = absent()
    guidance_scale: Annotated[
        NotNegative | Inherit, Spec("weight of classifier-free guidance; 1 is none", also=("cfg_scale",))
    ] = absent()
    watermark: Annotated[
        bool | Inherit, Spec("shifts the distribution so that the text carries a watermark")
    ] = absent()
    logits_processors: Annotated[
        list[Line] | Inherit,
        Spec(
            "code that rewrites logits before sampling", also=("logits_processor", "custom_logit_processor")
        ),
    ] = absent()

    seed: Annotated[
        Count | Inherit,
        Spec(
            "start of the random numbers; without one, answers differ from call to call",
            also=("random_seed",),
            example=42,
        ),
    ] = absent()
    do_sample: Annotated[bool | Inherit, Spec("false is greedy decoding whatever the temperature")] = absent()
    n: Annotated[
        Positive | Inherit, Spec("answers per request", unit="answers", also=("num_return_sequences",))
    ] = absent()
    best_of: Annotated[
        Positive | Inherit, Spec("answers drawn, of which the most likely are returned", unit="answers")
    ] = absent()
    beam: Annotated[
        Beam | Inherit, Spec("beam search instead of sampling", also=("use_beam_search", "num_beams"))
    ] = absent()

    max_tokens: Annotated[
        Positive | Inherit,
        Spec(
            "cuts the answer at this length",
            unit="tokens",
            also=("max_new_tokens", "max_completion_tokens", "num_predict", "n_predict", "max_output_tokens"),
            example=256,
        ),
    ] = absent()
    min_tokens: Annotated[
        Count | Inherit,
        Spec("no end before this length", unit="tokens", also=("min_new_tokens", "min_length")),
    ] = absent()
    stop: Annotated[
        list[Text] | Inherit,
        Spec(
            "text that ends the answer",
            also=("stop_strings", "stop_sequences", "stop_words"),
            example=["</answer>"],
        ),
    ] = absent()
    stop_token_ids: Annotated[
        list[TokenId] | Inherit,
        Spec("tokens that end the answer, a set", also=("eos_token_id", "stop_tokens"), unordered=True),
    ] = absent()
    ignore_eos: Annotated[bool | Inherit, Spec("runs on past the model's own end of text")] = absent()
    include_stop_str_in_output: Annotated[
        bool | Inherit, Spec("whether the stop text stays in the answer")
    ] = absent()
    skip_special_tokens: Annotated[
        bool | Inherit, Spec("whether special tokens are left out of the text")
    ] = absent()
    spaces_between_special_tokens: Annotated[
        bool | Inherit, Spec("spaces between special tokens in the text")
    ] = absent()
    bad_words: Annotated[
        list[Text] | Inherit,
        Spec("text that is never produced, a set", also=("bad_words_ids",), unordered=True),
    ] = absent()
    logit_bias: Annotated[
        dict[TokenKey, Bias] | Inherit, Spec("added to the logit of a token, by token id", unit="logits")
    ] = absent()
    allowed_token_ids: Annotated[
        list[TokenId] | Inherit, Spec("only these tokens can be produced, a set", unordered=True)
    ] = absent()

    logprobs: Annotated[bool | Inherit, Spec("whether log-probabilities are returned", LATENCY)] = absent()
    top_logprobs: Annotated[
        OrUnlimited | Inherit,
        Spec("alternatives returned per token; -1 is the vocabulary", LATENCY, unit="tokens"),
    ] = absent()
    prompt_logprobs: Annotated[
        Count | Inherit,
        Spec(
            "log-probabilities of the prompt; asking makes some engines skip the prefix cache", unit="tokens"
        ),
    ] = absent()
    truncate_prompt_tokens: Annotated[
        OrUnlimited | Inherit,
        Spec(
            "cuts the prompt from the left to this length; -1 is the context length",
            unit="tokens",
            also=("truncate",),
        ),
    ] = absent()
    structured: Annotated[
        Structured | Inherit,
        Spec("constrains tokens to the output contract", also=("guided_decoding", "response_format")),
    ] = absent()
    reasoning_effort: Annotated[
        Word | Inherit, Spec("how much the model reasons before it answers", example="low")
    ] = absent()
    thinking_budget: Annotated[
        OrUnlimited | Inherit,
        Spec(
            "cuts the reasoning at this length; -1 is no limit",
            unit="tokens",
            also=("reasoning_budget", "thinking_token_budget"),
        ),
    ] = absent()
    parallel_tool_calls: Annotated[bool | Inherit, Spec("several tool calls in one answer")] = absent()
    tool_choice: Annotated[Word | Inherit, Spec("none, auto, required, or the name of one tool")] = absent()
    stream: Annotated[bool | Inherit, Spec("sends the answer piece by piece", LATENCY)] = absent()
    use_cache: Annotated[bool | Inherit, Spec("keeps keys and values between steps", LATENCY)] = absent()
    extra: Annotated[
        dict[Word, JsonValue],
        Spec("parameters of one engine that have no name here, sent as they are"),
    ] = absent()
    overridable: Annotated[
        list[DecodingKey],
        Spec("what a request may set for itself, a set", unordered=True, example=["max_tokens", "stop"]),
    ] = absent()
    reason: Annotated[Line, Spec("why the values are as they are", NONE)] = absent()
