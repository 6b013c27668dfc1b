"""tierlock.yaml: services, review policy, task profiles, settings of rules.

- A service binds one config of each tier. Endpoints and credentials are references; no secret is a value.
- An exemption names a rule, a config, a reason and the day it ends; all four are asked for.
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
    Date,
    EnvironmentName,
    JsonValue,
    Line,
    Name,
    Positive,
    Probability,
    Real,
    SecretReference,
    Spec,
    Text,
    Word,
    absent,
)
from governance.tiers.schemas.review import Review

Url = Annotated[str, Field(pattern=forms.URL.pattern, max_length=2000)]
RuleCode = Annotated[str, Field(pattern=forms.RULE.pattern)]
ConfigReference = Annotated[str, Field(pattern=forms.CONFIG.pattern, max_length=110)]
# A literal 1 would take true and 1.0 as well: Python finds them equal.
FormatVersion = Annotated[int, Field(ge=1, le=1)]
Port = Annotated[int, Field(ge=1, le=65535)]


class Endpoint(Closed):
    """Where the service answers."""

    url: Annotated[Url, Spec("address of the OpenAI-compatible interface; no user name, no query", NONE)]
    model: Annotated[Line, Spec("model name requests carry")] = absent()
    api_key: Annotated[SecretReference, Spec("environment variable the key is in", NONE)] = absent()
    headers: Annotated[dict[Line, Line], Spec("headers of every request; secrets as env:NAME", NONE)] = (
        absent()
    )
    api: Annotated[Literal["chat", "completions", "responses"], Spec("which interface is called")] = absent()
    timeout_s: Annotated[AboveZero, Spec("how long an answer may take", NONE, unit="s")] = absent()
    concurrency: Annotated[Positive, Spec("requests sent at once by evals", LATENCY, unit="requests")] = (
        absent()
    )


class Evals(Closed):
    """Which eval suites speak for the service."""

    smoke: Annotated[Name, Spec("suite run after every release and rollback, evals/<name>.jsonl", NONE)] = (
        absent()
    )
    full: Annotated[Name, Spec("suite a release is judged by", NONE)] = absent()
    suites: Annotated[list[Name], Spec("further suites, a set", NONE, unordered=True)] = absent()
    min_score: Annotated[Probability, Spec("score below which a release is refused", NONE)] = absent()
    min_coverage: Annotated[
        Probability, Spec("share of requests that must be answered for a run to count; 0.95 by default", NONE)
    ] = absent()
    max_drop: Annotated[Probability, Spec("loss against golden above which a release is refused", NONE)] = (
        absent()
    )


class Deploy(Closed):
    """How the service is started and restarted."""

    driver: Annotated[
        Literal["process", "container", "compose", "kubernetes", "systemd", "command", "none"],
        Spec("what starts the server", NONE),
    ]
    host: Annotated[Line, Spec("address the server listens on", NONE)] = absent()
    port: Annotated[Port, Spec("port the server listens on", NONE)] = absent()
    weights: Annotated[
        Line, Spec("file or folder of the weights on the host; their digests are in the base config", NONE)
    ] = absent()
    binary: Annotated[Line, Spec("program of the engine on the host", NONE)] = absent()
    file: Annotated[Line, Spec("compose file or manifest", NONE)] = absent()
    service: Annotated[Line, Spec("name in the compose file", NONE)] = absent()
    namespace: Annotated[Line, Spec("Kubernetes namespace", NONE)] = absent()
    workload: Annotated[Line, Spec("Kubernetes workload", NONE)] = absent()
    container: Annotated[Line, Spec("name of the container, or of the container in the workload", NONE)] = (
        absent()
    )
    runtime: Annotated[
        Line, Spec("program that runs containers, with its global options", NONE, example="podman")
    ] = absent()
    arguments: Annotated[
        list[Line],
        Spec("arguments of the runtime for this service", NONE, example=["--network=host"]),
    ] = absent()
    context: Annotated[Line, Spec("Kubernetes context", NONE)] = absent()
    unit: Annotated[Line, Spec("systemd unit", NONE)] = absent()
    command: Annotated[list[Line], Spec("program that deploys, with arguments", NONE)] = absent()
    ready_path: Annotated[
        Line, Spec("path that answers 200 when the server is ready", NONE, example="/health")
    ] = absent()
    ready_timeout_s: Annotated[AboveZero, Spec("how long a start may take", NONE, unit="s")] = absent()
    environment: Annotated[
        dict[EnvironmentName, Text], Spec("variables of the deployment alone; secrets as env:NAME", NONE)
    ] = absent()


class PackageAudit(Closed):
    """What is done about packages with known vulnerabilities before a golden is restored."""

    vulnerable: Annotated[
        Literal["block", "warn"],
        Spec("what a package with a known vulnerability does; block by default", NONE),
    ] = absent()
    unaudited: Annotated[
        Literal["block", "warn"], Spec("what a package that nobody could look up does; warn by default", NONE)
    ] = absent()
    service: Annotated[Literal["pypi", "osv"], Spec("vulnerability service that is asked", NONE)] = absent()
    url: Annotated[Url, Spec("address of another vulnerability service of that kind", NONE)] = absent()
    ignore: Annotated[
        dict[Line, Line], Spec("vulnerabilities that are accepted, each with the reason", NONE)
    ] = absent()


class ReleasePolicy(Closed):
    """What a release and a return to golden must show."""

    packages: Annotated[PackageAudit, Spec("audit of the packages", NONE)] = absent()
    advisories: Annotated[
        Line, Spec("JSON file of advisories on engines and models, in the repository", NONE)
    ] = absent()
    golden_max_age_days: Annotated[
        Positive, Spec("age of the last smoke eval of golden above which a rollback asks", NONE, unit="days")
    ] = absent()
    require: Annotated[
        list[Literal["weights", "packages", "platform", "image"]],
        Spec("layers a release may not leave unknown, a set", NONE, unordered=True),
    ] = absent()


class Service(Closed):
    """One service: a config of each tier, and where it runs."""

    description: Annotated[Text, Spec("a note for people", NONE)] = absent()
    base: Annotated[Name, Spec("base config the service runs", example="smollm2-q4")]
    sampling: Annotated[Name, Spec("sampling config the service runs", example="factual")]
    prompts: Annotated[Name, Spec("prompts config the service runs", example="summarize")]
    endpoint: Annotated[Endpoint, Spec("where it answers", NONE)] = absent()
    evals: Annotated[Evals, Spec("which suites speak for it", NONE)] = absent()
    deploy: Annotated[Deploy, Spec("how it is started", NONE)] = absent()
    owner: Annotated[Name, Spec("role or person that answers for it", NONE)] = absent()


class Range(Closed):
    """What a profile allows for one number."""

    min: Annotated[Real, Spec("least value", NONE)] = absent()
    max: Annotated[Real, Spec("greatest value", NONE)] = absent()


class Profile(Closed):
    """What a task allows: a range for each decoding parameter that matters to it."""

    description: Annotated[Text, Spec("a note for people", NONE)] = absent()
    temperature: Annotated[Range, Spec("range of temperature", NONE)] = absent()
    top_p: Annotated[Range, Spec("range of top_p", NONE)] = absent()
    top_k: Annotated[Range, Spec("range of top_k", NONE)] = absent()
    min_p: Annotated[Range, Spec("range of min_p", NONE)] = absent()
    typical_p: Annotated[Range, Spec("range of typical_p", NONE)] = absent()
    repetition_penalty: Annotated[Range, Spec("range of repetition_penalty", NONE)] = absent()
    presence_penalty: Annotated[Range, Spec("range of presence_penalty", NONE)] = absent()
    frequency_penalty: Annotated[Range, Spec("range of frequency_penalty", NONE)] = absent()
    max_tokens: Annotated[Range, Spec("range of max_tokens", NONE, unit="tokens")] = absent()
    thinking_budget: Annotated[Range, Spec("range of thinking_budget", NONE, unit="tokens")] = absent()
    seed_required: Annotated[bool, Spec("whether a seed must be set", NONE)] = absent()
    deterministic: Annotated[
        bool, Spec("whether configs of this task must claim repeatable answers", NONE)
    ] = absent()
    structured: Annotated[bool, Spec("whether the profile can hold an answer to a schema", NONE)] = absent()


class Exemption(Closed):
    """One rule set aside for one config, for a reason, until a day."""

    rule: Annotated[RuleCode, Spec("the rule", NONE)]
    config: Annotated[ConfigReference, Spec("where it is set aside", NONE)]
    key: Annotated[
        Line, Spec("the one key it is set aside for", NONE, example="engine.options.attention")
    ] = absent()
    reason: Annotated[Line, Spec("why", NONE)]
    expires: Annotated[Date, Spec("the last day it counts", NONE)]


class Rules(Closed):
    """Settings of rules, and exemptions."""

    settings: Annotated[
        dict[RuleCode, dict[Word, JsonValue]],
        Spec("settings of single rules by code", NONE, example={"TL210": {"context": 32768}}),
    ] = absent()
    exemptions: Annotated[list[Exemption], Spec("rules set aside, still evaluated and shown", NONE)] = (
        absent()
    )


class Services(Closed):
    """tierlock.yaml."""

    version: Annotated[FormatVersion, Spec("version of this file's format", NONE, example=1)]
    services: Annotated[dict[Name, Service], Spec("the services of this repository")] = absent()
    review: Annotated[Review, Spec("who must accept what", NONE)] = absent()
    profiles: Annotated[
        dict[Word, Profile], Spec("tasks with the ranges they allow, beside factual, code and creative", NONE)
    ] = absent()
    rules: Annotated[Rules, Spec("settings of rules, and exemptions", NONE)] = absent()
    release: Annotated[ReleasePolicy, Spec("what releases and rollbacks must show", NONE)] = absent()
