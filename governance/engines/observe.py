"""What a running server really uses, and from where we know it.

- HTTP first: what the server itself reports. What it does not report is read from its process, when that runs
  on this host: its command line and variables, turned into values by the engine's own `parse`.
- What neither shows is unknown with a reason. No value is filled in from the config it is compared with.
- Nobody answers: `Unreachable`. Somebody answers who is no engine we know: `Unreachable` too, since nothing
  can be judged. Another engine than the declared one is observed as what it is.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Final, Protocol, TypeAlias, cast
from urllib.parse import urlsplit

from governance.adapters.processes import Program, behind_port, file_of, is_local
from governance.engines import registry, tables
from governance.engines.keys import look, put
from governance.engines.model import FROM_CONFIG, REQUEST_DEFAULT, Engine, Observed
from governance.errors import Unreachable
from governance.tiers.reader import read_json
from governance.values import Json, Tree, Unknown, Value
from governance.verdict import EffectiveValue

FROM_FLAGS: Final = "command line of the server process"
FROM_VARIABLES: Final = "environment of the server process"
NOT_SET: Final = "not set by the server process"
MODEL_FILE: Final = "config.json"  # what every folder of a model has
# Paths that tell engines apart, in the order they are asked.
PROBES: Final = (
    "/v1/models",
    "/props",
    "/version",
    "/server_info",
    "/get_server_info",
    "/info",
    "/api/version",
)
# Every route of `transformers serve` 5.
_TRANSFORMERS: Final = frozenset(
    {
        "/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/audio/transcriptions",
        "/v1/models", "/health", "/load_model", "/reset",
    }
)  # fmt: skip
_PREFIXES: Final = (
    *("LLAMA_ARG_", "GGML_", "VLLM_", "SGLANG_", "SGL_", "TRTLLM_", "TLLM_", "OLLAMA_", "FLASHINFER_"),
    *("OMP_", "GOMP_", "KMP_", "MKL_", "OPENBLAS_", "CUDA_", "CUBLAS_", "NVIDIA_", "NCCL_", "HIP_", "ROCR_"),
    *("TORCH_", "TORCHINDUCTOR_", "PYTORCH_", "TRITON_", "HF_HUB_OFFLINE", "TRANSFORMERS_", "VK_"),
    *("PREFIX_CACHING", "ATTENTION", "PREFILL_CHUNKING", "DISABLE_"),
)
_SECRET: Final = re.compile("KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL")


# A file of the serving host as the server's process sees it: its bytes, None when there is none, or why not.
Read: TypeAlias = Callable[[Program, str], bytes | Unknown | None]


class Http(Protocol):
    """What asks the server: `adapters.http.Client` is one."""

    def get(self, path: str) -> Json | str | Unknown:
        """The answer to GET `path`; unknown when it is no 200. Raises `Unreachable`."""
        ...


@dataclass(frozen=True, slots=True)
class Detected:
    """The engine behind an address; `version` is unknown where the engine does not say."""

    engine: str
    version: str | Unknown
    source: str


@dataclass(frozen=True, slots=True)
class Observation:
    """One look at one server.

    `values` has keys as `resolve` has them (`sampling.top_k`, `engine.options.threads`); `identity` says what
    else is known of the server: `build`, `model`, `weights` (the path, for a local digest), `chat_template`
    (its text) and `chat_template_sha256`; `started_at` counts seconds since the epoch.
    """

    engine: str
    version: str | Unknown
    url: str
    values: Mapping[str, Observed]
    identity: Mapping[str, Observed] = field(default_factory=dict)
    process: Program | Unknown | None = None

    @property
    def started_at(self) -> float | Unknown:
        """When the server process started, in seconds since the epoch."""
        if isinstance(self.process, Program):
            return self.process.started_at
        return self.process if self.process is not None else Unknown("the process was not looked for")


def observe(
    engine_name: str,
    version: str,
    url: str,
    *,
    http: Http,
    process: Program | Unknown | None = None,
    read: Read = file_of,
) -> Observation:
    """What the server at `url` uses. `engine_name` and `version` are the declared ones; empty: detect them.

    `process` is the server's process (`process_behind`), or why it cannot be looked at; `read` gives a file
    as that process sees it. Raises `Unreachable`.
    """
    get = _remembering(http)
    found = detect(get, url)
    engine = registry.load(found.engine)
    values = dict(engine.read_back(get))
    values.setdefault("engine.name", Observed(found.engine, found.source))
    if "engine.version" not in values or not isinstance(found.version, Unknown):
        values["engine.version"] = Observed(found.version, found.source)
    seen = _version(values, version if engine_name in ("", found.engine) else "")
    for key, observed in _from_process(engine, seen, process, read).items():
        if not _known(values.get(key)):
            values[key] = observed
    told = values["engine.version"].value
    identity = _identity(engine, get)
    running = process
    if isinstance(process, Program) and _launch_of(engine, process) is None:
        running = _stranger(process)
    return Observation(found.engine, told if isinstance(told, str) else seen, url, values, identity, running)


def process_behind(url: str) -> Program | Unknown:
    """The process of this host that serves `url`, or why it cannot be had.

    Of its environment only variables that may shape an answer are kept (`engine_variable`).
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    if not is_local(host):
        return Unknown(f"`{host}` is another host: its processes cannot be seen from here")
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return behind_port(port, wanted=engine_variable)


def engine_variable(name: str) -> bool:
    """Whether an environment variable may shape an engine's output and holds no secret."""
    if _SECRET.search(name):
        return False
    return name.startswith(_PREFIXES) or name in _tgi_variables()


def detect(get: Callable[[str], Json | str | Unknown], url: str = "") -> Detected:
    """The engine that answers. Raises `Unreachable` when it is none that tierlock knows."""
    answers = _Asked(get)
    for rule in _RULES:
        if (found := rule(answers)) is not None:
            return found
    if _is_transformers(answers["/openapi.json"]):
        reason = "transformers serve tells its version nowhere"
        return Detected("transformers", Unknown(reason), "GET /openapi.json paths")
    said = "; ".join(f"{path}: {_short(answers[path])}" for path in PROBES)
    raise Unreachable(
        "a server answers, and it is no engine tierlock knows",
        where=url,
        hint=f"check `endpoint.url`; the server said: {said}",
    )


def _llama_cpp(answers: Mapping[str, Value]) -> Detected | None:
    props = answers["/props"]
    if isinstance(props, Mapping) and "default_generation_settings" in props:
        return Detected("llama.cpp", Unknown("named by /props build_info alone"), "GET /props")
    return None


def _vllm(answers: Mapping[str, Value]) -> Detected | None:
    version = _text(answers["/version"], "version")
    if version is not None and _owner(answers) in ("vllm", None):
        return Detected("vllm", version, "GET /version")
    return None


def _sglang(answers: Mapping[str, Value]) -> Detected | None:
    for path in ("/server_info", "/get_server_info"):
        answer = answers[path]
        if isinstance(answer, Mapping) and ("model_path" in answer or "attention_backend" in answer):
            version = _text(answer, "version")
            return Detected("sglang", version or Unknown("/server_info names no version"), f"GET {path}")
    if _owner(answers) == "sglang":
        return Detected("sglang", Unknown("/server_info did not answer"), "GET /v1/models owned_by")
    return None


def _tgi(answers: Mapping[str, Value]) -> Detected | None:
    answer = answers["/info"]
    if isinstance(answer, Mapping) and "max_total_tokens" in answer and "model_id" in answer:
        return Detected("tgi", _text(answer, "version") or Unknown("/info names no version"), "GET /info")
    return None


def _ollama(answers: Mapping[str, Value]) -> Detected | None:
    version = _text(answers["/api/version"], "version")
    return Detected("ollama", version, "GET /api/version") if version is not None else None


def _tensorrt_llm(answers: Mapping[str, Value]) -> Detected | None:
    version = _text(answers["/version"], "version")
    if version is not None and _owner(answers) == "tensorrt_llm":
        return Detected("tensorrt-llm", version, "GET /version")
    return None


class _Asked(dict[str, Value]):
    """The answers to GET, asked when a rule first wants one: some take a server seconds to make."""

    def __init__(self, get: Callable[[str], Json | str | Unknown]) -> None:
        super().__init__()
        self._get = get

    def __missing__(self, path: str) -> Value:
        self[path] = self._get(path)
        return self[path]


def _is_transformers(schema: Value) -> bool:
    """Two routes that no other engine has, and none that `transformers serve` has not: gateways have more.

    Its list of models is no sign: it answers 500 on a host that has no cache of models.
    """
    paths = schema.get("paths") if isinstance(schema, Mapping) else None
    if not isinstance(paths, Mapping):
        return False
    return paths.keys() >= {"/v1/responses", "/v1/audio/transcriptions"} and paths.keys() <= _TRANSFORMERS


_RULES: Final = (_llama_cpp, _tensorrt_llm, _vllm, _sglang, _tgi, _ollama)


def _owner(answers: Mapping[str, Value]) -> str | None:
    models = answers["/v1/models"]
    data = models.get("data") if isinstance(models, Mapping) else None
    first = data[0] if isinstance(data, list) and data else None
    return _text(first, "owned_by")


def _text(answer: object, name: str) -> str | None:
    value = answer.get(name) if isinstance(answer, Mapping) else None
    return value if isinstance(value, str) and value else None


def _short(answer: Value) -> str:
    return answer.reason.rpartition(": ")[2] if isinstance(answer, Unknown) else "answered"


def _remembering(http: Http) -> Callable[[str], Json | str | Unknown]:
    """`http.get` that asks each path once."""
    known: dict[str, Json | str | Unknown] = {}

    def get(path: str) -> Json | str | Unknown:
        if path not in known:
            known[path] = http.get(path)
        return known[path]

    return get


def _known(observed: Observed | None) -> bool:
    return observed is not None and not isinstance(observed.value, Unknown)


def _version(values: Mapping[str, Observed], declared: str) -> str | Unknown:
    value = values["engine.version"].value
    if isinstance(value, str):
        return value
    if declared:
        return declared
    return value if isinstance(value, Unknown) else Unknown("the server names no version")


def _from_process(
    engine: Engine, version: str | Unknown, process: Program | Unknown | None, read: Read
) -> dict[str, Observed]:
    """Engine values by the server's own command line, with the defaults of its version."""
    launch = _launch_of(engine, process) if isinstance(process, Program) else None
    if launch is None or not isinstance(process, Program) or isinstance(version, Unknown):
        return {}
    hidden = isinstance(process.environment, Unknown)
    environment = {} if isinstance(process.environment, Unknown) else process.environment
    file = _generation_config(engine, engine.parse(launch, environment).base, process, read)
    by_flags = _values_of(engine, version, launch, {}, file)
    found: dict[str, Observed] = {}
    for key, value in _values_of(engine, version, launch, environment, file).items():
        if isinstance(value.value, Unknown) or value.provenance.startswith(REQUEST_DEFAULT):
            continue
        if hidden and value.provenance != FROM_CONFIG:
            continue  # a variable we may not read could have set it
        found[key] = Observed(value.value, _source(key, value, by_flags))
    return found


def _source(key: str, value: EffectiveValue, by_flags: Mapping[str, EffectiveValue]) -> str:
    if value.provenance != FROM_CONFIG:
        return f"{value.provenance}, {NOT_SET}"
    flag = by_flags.get(key)
    return FROM_FLAGS if flag is not None and flag.provenance == FROM_CONFIG else FROM_VARIABLES


def _values_of(
    engine: Engine,
    version: str,
    launch: Sequence[str],
    environment: Mapping[str, str],
    file: Tree | Unknown,
) -> dict[str, EffectiveValue]:
    """The engine values and sampling defaults of a launch, by key; `file` is the model's own config."""
    tree: dict[str, Json] = {**engine.parse(launch, environment).base}
    put(tree, "engine.version", version)
    drawn = {f"sampling.{key}": value for key, value in engine.sampling_defaults(tree, file).items()}
    return {**engine.engine_values(tree), **drawn}


def _generation_config(engine: Engine, said: Tree, process: Program, read: Read) -> Tree | Unknown:
    """The generation config in the model's folder on the serving host; `{}` for a model without one."""
    name, model = getattr(engine, "GENERATION_FILE", None), look(said, "model.id")
    if not isinstance(name, str) or not isinstance(model, str):
        return Unknown("the process does not show the model's files")
    data = read(process, f"{model}/{name}")
    if data is None:
        weights = read(process, f"{model}/{MODEL_FILE}")
        return {} if isinstance(weights, bytes) else Unknown(f"`{model}` is no folder of the serving host")
    tree = data if isinstance(data, Unknown) else read_json(data, name).tree
    return tree if isinstance(tree, Unknown | Mapping) else Unknown(f"`{name}` cannot be read")


def _launch_of(engine: Engine, process: Program | None) -> tuple[str, ...] | None:
    """The engine's own command line, without an interpreter before it; None when it is another program."""
    programs = cast("tuple[str, ...]", getattr(engine, "PROGRAMS", ()))
    words = process.argv if process is not None else ()
    for at, word in enumerate(words[:5]):
        if word in programs or PurePosixPath(word).name in programs:
            return words[at:]
    return None


def _stranger(process: Program) -> Unknown:
    name = PurePosixPath(process.argv[0]).name
    return Unknown(
        f"`{name}` listens on the port: a proxy, or the engine under a name tierlock does not know"
    )


def _identity(engine: Engine, get: Callable[[str], Json | str | Unknown]) -> dict[str, Observed]:
    ask = cast("Callable[[object], dict[str, Observed]] | None", getattr(engine, "identity", None))
    found = ask(get) if ask is not None else {}
    template = found.get("chat_template")
    if template is not None and isinstance(template.value, str):
        digest = hashlib.sha256(template.value.encode()).hexdigest()
        found["chat_template_sha256"] = Observed(f"sha256:{digest}", template.source)
    return found


@lru_cache(maxsize=1)
def _tgi_variables() -> frozenset[str]:
    """The launcher of TGI reads every option from a variable of the option's name, without a prefix."""
    newest = tables.versions("tgi")
    found = tables.table("tgi", newest[-1]) if newest else Unknown("no table")
    if isinstance(found, Unknown):
        return frozenset()
    return frozenset(option.env for option in found.options.values() if option.env)
