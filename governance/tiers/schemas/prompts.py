"""The prompts tier: everything that becomes prompt tokens, and the contract the answer must keep.

- Text is byte-exact: one added newline is a change. Longer text lives in files beside the config.
- Template variables are typed; a template sees these and nothing else.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, RootModel

from governance.tiers.schemas.field import (
    NONE,
    Closed,
    Count,
    Date,
    FileReference,
    Identifier,
    JsonValue,
    Line,
    Positive,
    RelativePath,
    Spec,
    Text,
    Word,
    absent,
)

VariableType = Literal["text", "number", "integer", "boolean", "list", "json"]


class Variable(Closed):
    """One template variable with more than its type."""

    type: Annotated[VariableType, Spec("what the variable may hold")]
    max_chars: Annotated[Positive, Spec("longest text it may hold", unit="characters")] = absent()
    max_tokens: Annotated[Positive, Spec("longest text it may hold", unit="tokens")] = absent()
    choices: Annotated[list[Text], Spec("the only values it may hold, a set", unordered=True)] = absent()
    optional: Annotated[bool, Spec("whether it may be missing")] = absent()
    description: Annotated[Text, Spec("a note for people", NONE)] = absent()
    example: Annotated[JsonValue, Spec("a value for previews and tests", NONE)] = absent()


class Template(Closed):
    """The user message, made from variables."""

    file: Annotated[
        RelativePath,
        Spec("file of the template", example="user.md.j2"),
    ] = absent()
    text: Annotated[Text, Spec("the template itself, where it is short")] = absent()
    engine: Annotated[
        Literal["jinja2", "none"], Spec("how variables are put in; `none` takes the text as it is")
    ] = absent()
    variables: Annotated[
        dict[Identifier, VariableType | Variable],
        Spec("what the template may use, with types", example={"article": "text"}),
    ] = absent()
    trim_blocks: Annotated[bool, Spec("whether the newline after a block is dropped")] = absent()
    lstrip_blocks: Annotated[bool, Spec("whether blanks before a block are dropped")] = absent()
    role: Annotated[
        Literal["user", "system", "developer", "assistant"], Spec("role of the message it makes")
    ] = absent()


class Turn(Closed):
    """One message of an example conversation."""

    role: Annotated[Literal["system", "developer", "user", "assistant", "tool"], Spec("who speaks")]
    content: Annotated[str, Spec("what is said, byte for byte")]
    name: Annotated[Line, Spec("name of the speaker or tool")] = absent()


class Shot(Closed):
    """One example as input and output."""

    input: Annotated[str | dict[Identifier, JsonValue], Spec("what is given: a text, or template variables")]
    output: Annotated[str, Spec("what is to be answered, byte for byte")]


class Conversation(Closed):
    """One example as a whole conversation."""

    messages: Annotated[list[Turn], Spec("the messages in order", also=("conversation", "turns"))]


class Example(RootModel[Turn | Shot | Conversation]):
    """One line of a few-shot file."""

    model_config = ConfigDict(strict=True, frozen=True)


class FewShotFile(Closed):
    """Examples in a JSON Lines file, one per line."""

    file: Annotated[
        RelativePath,
        Spec("file of the examples", example="few_shot.jsonl"),
    ]
    limit: Annotated[Positive, Spec("how many of them are used, from the first", unit="examples")] = absent()


class BeginOfSequence(Closed):
    """Who writes the begin-of-sequence token: template, tokenizer, or by mistake both."""

    token: Annotated[Text, Spec("the token as text", also=("bos_token",), example="<s>")] = absent()
    added_by_tokenizer: Annotated[
        bool,
        Spec(
            "whether the tokenizer adds one; a template that adds another doubles it", also=("add_bos_token",)
        ),
    ] = absent()


class Output(Closed):
    """The contract the answer must keep."""

    format: Annotated[Word, Spec("form of the answer", also=("output_format",), example="text")] = absent()
    schema_: Annotated[
        FileReference,
        Field(alias="schema"),
        Spec("JSON Schema the answer must match", also=("json_schema", "response_format")),
    ] = absent()
    regex: Annotated[
        Text, Spec("regular expression the answer must match", also=("guided_regex", "pattern"))
    ] = absent()
    grammar: Annotated[
        FileReference, Spec("grammar the answer must follow", also=("guided_grammar", "ebnf"))
    ] = absent()
    choices: Annotated[list[Text], Spec("the only answers there are", also=("guided_choice",))] = absent()
    max_sentences: Annotated[Positive, Spec("longest answer", unit="sentences", example=3)] = absent()
    max_paragraphs: Annotated[Positive, Spec("longest answer", unit="paragraphs")] = absent()
    max_words: Annotated[Positive, Spec("longest answer", unit="words")] = absent()
    max_chars: Annotated[Positive, Spec("longest answer", unit="characters")] = absent()
    max_tokens: Annotated[Positive, Spec("longest answer that keeps the contract", unit="tokens")] = absent()
    min_chars: Annotated[Count, Spec("shortest answer", unit="characters")] = absent()
    language: Annotated[
        Word, Spec("language of the answer, a BCP 47 tag or same-as-input", example="same-as-input")
    ] = absent()
    must_contain: Annotated[list[Text], Spec("text every answer has, a set", unordered=True)] = absent()
    must_not_contain: Annotated[list[Text], Spec("text no answer has, a set", unordered=True)] = absent()
    reasoning: Annotated[
        Literal["none", "separate", "inline"], Spec("whether reasoning is part of the answer")
    ] = absent()


class Prompts(Closed):
    """What the model is told, and what the answer must be."""

    kind: Annotated[Literal["prompts"], Spec("names the tier; must be that of the folder", NONE)]
    description: Annotated[Text, Spec("a note for people", NONE)] = absent()
    system: Annotated[
        Text | FileReference,
        Spec(
            "the system message, byte for byte",
            also=("system_prompt", "system_message"),
            example={"file": "system.md"},
        ),
    ] = absent()
    template: Annotated[Template, Spec("the user message", also=("prompt", "user", "prompt_template"))] = (
        absent()
    )
    few_shot: Annotated[
        FewShotFile | list[Turn | Shot],
        Spec("examples shown before the question", also=("examples", "messages", "shots")),
    ] = absent()
    chat_template: Annotated[
        Literal["model"] | FileReference,
        Spec(
            "how messages become one prompt; `model` is the model's own",
            example={"file": "chat_template.jinja"},
        ),
    ] = absent()
    chat_template_kwargs: Annotated[
        dict[Identifier, JsonValue],
        Spec("values the chat template is given", example={"enable_thinking": False}),
    ] = absent()
    add_special_tokens: Annotated[
        bool, Spec("whether the tokenizer adds its special tokens to the rendered prompt")
    ] = absent()
    add_generation_prompt: Annotated[bool, Spec("whether the prompt ends where the answer begins")] = absent()
    continue_final_message: Annotated[bool, Spec("whether the answer continues the last message")] = absent()
    bos: Annotated[BeginOfSequence, Spec("who writes the begin-of-sequence token")] = absent()
    tokenizer_config: Annotated[
        FileReference, Spec("the tokenizer_config.json the prompts were written for")
    ] = absent()
    tools: Annotated[FileReference, Spec("tools offered to the model, as JSON", also=("functions",))] = (
        absent()
    )
    documents: Annotated[FileReference, Spec("documents put into every prompt, as JSON")] = absent()
    output: Annotated[
        Output, Spec("the contract the answer must keep", also=("response", "output_contract"))
    ] = absent()
    stop: Annotated[
        list[Text],
        Spec("text that ends the answer because the prompt's form asks for it", also=("stop_strings",)),
    ] = absent()
    date: Annotated[Date, Spec("the date a template that asks for one is given", example="2026-11-02")] = (
        absent()
    )
    response_prefix: Annotated[Text, Spec("text the answer is made to begin with", also=("prefill",))] = (
        absent()
    )
    max_prompt_tokens: Annotated[
        Positive, Spec("longest rendered prompt", unit="tokens", also=("max_input_tokens",))
    ] = absent()
    reason: Annotated[Line, Spec("why the text is as it is", NONE)] = absent()
