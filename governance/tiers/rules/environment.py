"""Environment: variables that change kernels, packages that are not pinned, secrets where text is kept.

- A variable that shapes the output is welcome in the config and nowhere else: its value must stand here,
  not on the host, and must not contradict an option.
- A secret is never printed: its kind and its position are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from governance.tiers.rules.model import ERROR, NOTE, WARNING, Context, Hit, Place, Rule, section, text_at
from governance.tiers.rules.packages import Requirement, read_lock
from governance.tiers.rules.variables import variable
from governance.tiers.secrets import find_secrets
from governance.values import Json, KeyPath

_VARIABLES: Final[KeyPath] = ("environment", "variables")
_TEXT_FILES: Final = (
    ".md",
    ".txt",
    ".j2",
    ".jinja",
    ".jinja2",
    ".jsonl",
    ".json",
    ".yaml",
    ".gbnf",
    ".ebnf",
    ".lark",
    "",
)
_SECRET_HEADERS: Final = frozenset(
    {"authorization", "proxy-authorization", "cookie", "x-api-key", "api-key", "x-auth-token"}
)
# Which key a variable competes with, by engine.
_OVERRIDES: Final[dict[str, dict[str, str]]] = {
    "vllm": {
        "VLLM_ATTENTION_BACKEND": "engine.options.attention",
        "VLLM_BATCH_INVARIANT": "engine.options.batch_invariant",
        "VLLM_ALL2ALL_BACKEND": "engine.options.all2all_backend",
        "VLLM_FLOAT32_MATMUL_PRECISION": "precision.matmul",
    },
    "sglang": {"SGLANG_ENABLE_DETERMINISTIC_INFERENCE": "engine.options.batch_invariant"},
    "llama.cpp": {
        "LLAMA_ARG_MODEL": "model.id",
        "LLAMA_ARG_CTX_SIZE": "engine.options.max_model_len",
        "LLAMA_ARG_N_PARALLEL": "engine.options.max_num_seqs",
        "LLAMA_ARG_BATCH": "engine.options.max_num_batched_tokens",
        "LLAMA_ARG_UBATCH": "engine.options.micro_batch_size",
        "LLAMA_ARG_THREADS": "engine.options.threads",
        "LLAMA_ARG_THREADS_BATCH": "engine.options.threads_batch",
        "LLAMA_ARG_N_GPU_LAYERS": "engine.options.gpu_layers",
        "LLAMA_ARG_FLASH_ATTN": "engine.options.attention",
        "LLAMA_ARG_CACHE_PROMPT": "engine.options.prefix_caching",
        "LLAMA_ARG_CACHE_REUSE": "engine.options.cache_reuse",
        "LLAMA_ARG_CACHE_TYPE_K": "precision.kv_cache.dtype",
        "LLAMA_ARG_CACHE_TYPE_V": "precision.kv_cache.dtype",
        "LLAMA_ARG_CONTEXT_SHIFT": "engine.options.context_shift",
        "LLAMA_ARG_N_PREDICT": "engine.options.default_max_tokens",
        "LLAMA_ARG_KV_UNIFIED": "engine.options.kv_unified",
        "LLAMA_ARG_SWA_FULL": "engine.options.swa_full",
    },
    "tgi": {
        "MODEL_ID": "model.id",
        "REVISION": "model.revision",
        "DTYPE": "precision.dtype",
        "KV_CACHE_DTYPE": "precision.kv_cache.dtype",
        "QUANTIZE": "precision.weights.method",
        "ATTENTION": "engine.options.attention",
        "PREFIX_CACHING": "engine.options.prefix_caching",
        "USE_PREFIX_CACHING": "engine.options.prefix_caching",
        "MAX_TOTAL_TOKENS": "engine.options.max_model_len",
        "MAX_INPUT_TOKENS": "engine.options.max_input_tokens",
        "MAX_BATCH_PREFILL_TOKENS": "engine.options.max_num_batched_tokens",
        "NUM_SHARD": "engine.options.tensor_parallel_size",
        "TRUST_REMOTE_CODE": "model.trust_remote_code",
    },
    "ollama": {
        "OLLAMA_CONTEXT_LENGTH": "engine.options.max_model_len",
        "OLLAMA_KV_CACHE_TYPE": "precision.kv_cache.dtype",
        "OLLAMA_FLASH_ATTENTION": "engine.options.attention",
        "OLLAMA_NUM_PARALLEL": "engine.options.max_num_seqs",
    },
}
# Variables that make two runs differ, load other code, or let the engine leave what was evaluated.
_UNSTEADY: Final = frozenset(
    {"VLLM_MARLIN_USE_ATOMIC_ADD", "PYTORCH_TUNABLEOP_ENABLED", "LD_PRELOAD", "PYTHONPATH", "LD_LIBRARY_PATH"}
    | {"VLLM_ALLOW_LONG_MAX_MODEL_LEN", "HSA_OVERRIDE_GFX_VERSION", "VLLM_PLUGINS", "HF_ENDPOINT"}
    | {
        "VLLM_USE_MODELSCOPE",
        "VLLM_TEST_FORCE_FP8_MARLIN",
        "NVIDIA_TF32_OVERRIDE",
        "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE",
    }
)
_ON: Final = frozenset({"true", "1", "on", "yes", "flash", "enabled"})
_OFF: Final = frozenset({"false", "0", "off", "no", "none", "eager", "disabled"})


def _variables(context: Context) -> list[tuple[str, str]]:
    found = section(context.tree, "environment", "variables")
    return [(name, value) for name, value in found.items() if isinstance(value, str)]


def _changes_kernels(context: Context) -> Iterator[Hit]:
    engine = context.engine
    for name, value in _variables(context):
        if value.startswith("env:"):
            continue
        path = _OVERRIDES.get(engine, {}).get(name)
        if path is not None and _declared(context, path) is None:
            yield Hit(
                f"`{name}`: {variable(name).reason}, and `{path}` does not say so",
                (*_VARIABLES, name),
                f"write `{path}` and remove the variable",
                on_key=True,
            )
        elif name in _UNSTEADY:
            yield Hit(f"`{name}`: {variable(name).reason}", (*_VARIABLES, name), on_key=True)


def _declared(context: Context, path: str) -> Json:
    *parents, last = path.split(".")
    return section(context.tree, *parents).get(last)


def _from_host(context: Context) -> Iterator[Hit]:
    for name, value in _variables(context):
        if value.startswith("env:") and variable(name).effect == "output":
            yield Hit(
                f"`{name}` shapes the output ({variable(name).reason}) and its value comes from the host",
                (*_VARIABLES, name),
                "write the value here",
            )


def _unknown_variable(context: Context) -> Iterator[Hit]:
    for name, _ in _variables(context):
        if variable(name).effect == "unknown":
            yield Hit(f"what `{name}` does is not known to tierlock", (*_VARIABLES, name), on_key=True)


def _normal(value: Json) -> str:
    text = str(value).strip().lower()
    return "on" if text in _ON else "off" if text in _OFF else text


def _overrides(context: Context) -> Iterator[Hit]:
    engine = context.engine
    for name, value in _variables(context):
        path = _OVERRIDES.get(engine, {}).get(name)
        if path is None:
            continue
        declared = _declared(context, path)
        if declared is None or isinstance(declared, dict | list):
            continue
        agree = _normal(declared) == _normal(value)
        yield Hit(
            f"`{name}` is `{value}` and `{path}` is `{declared}`"
            if not agree
            else f"`{name}` says again what `{path}` says",
            (*_VARIABLES, name),
            f"keep `{path}` only",
            severity=WARNING if agree else ERROR,
        )


def _secret_variable(context: Context) -> Iterator[Hit]:
    for name, value in _variables(context):
        if variable(name).effect == "secret" and not value.startswith("env:"):
            yield Hit(
                f"`{name}` holds a secret in clear", (*_VARIABLES, name), f'write "env:{name}"', on_key=True
            )


def _position(text: str, offset: int) -> tuple[int, int]:
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


def _secret_in_text(context: Context) -> Iterator[Hit]:
    for secret in find_secrets(context.text):
        line, column = _position(context.text, secret.start)
        yield Hit(
            f"{_article(secret.kind)} {secret.kind} stands in the file",
            hint="remove it, and replace it where it was issued: git history keeps it",
            place=Place("", line, column),
        )
    for name, data in context.files.items():
        if not name.lower().endswith(_TEXT_FILES):
            continue
        text = data.decode("utf-8", "replace")
        for secret in find_secrets(text):
            line, column = _position(text, secret.start)
            yield Hit(
                f"{_article(secret.kind)} {secret.kind} stands in the file",
                hint="remove it, and replace it where it was issued: git history keeps it",
                place=Place(name, line, column),
            )


def _article(kind: str) -> str:
    return "an" if kind[0] in "AEIOUaeiou" and not kind.startswith("U") else "a"


def _secret_in_endpoint(context: Context) -> Iterator[Hit]:
    endpoint = section(context.tree, "endpoint")
    for name, value in section(endpoint, "headers").items():
        if name.lower() in _SECRET_HEADERS and isinstance(value, str) and not value.startswith("env:"):
            yield Hit(
                f"header `{name}` holds a secret in clear",
                ("endpoint", "headers", name),
                "write env:NAME",
                on_key=True,
            )
    key = endpoint.get("api_key")
    if isinstance(key, str) and not key.startswith("env:"):
        yield Hit("`api_key` holds a secret in clear", ("endpoint", "api_key"), "write env:NAME", on_key=True)


def _lock(context: Context) -> tuple[str, tuple[Requirement, ...]]:
    name = text_at(context.tree, "environment", "packages")
    data = context.files.get(name) if name else None
    return name, read_lock(data) if data is not None else ()


def _packages_missing(context: Context) -> Iterator[Hit]:
    if "packages" not in section(context.tree, "environment") and "@" not in text_at(
        context.tree, "image", "ref"
    ):
        if "image" not in context.tree:
            return
        yield Hit(
            "no lock file and no image digest say which packages run",
            ("environment",) if "environment" in context.tree else ("image", "ref"),
            "add `environment: {packages: requirements.lock}`",
        )


def _not_exact(context: Context) -> Iterator[Hit]:
    name, lock = _lock(context)
    for item in lock:
        if not item.exact:
            yield Hit(
                f"`{item.name or item.text}` {item.fault}",
                hint="pin it: name==version, with its hash",
                place=Place(name, item.line, 1, len(item.text)),
            )


def _without_hashes(context: Context) -> Iterator[Hit]:
    name, lock = _lock(context)
    bare = [item for item in lock if item.exact and not item.hashed]
    if bare:
        yield Hit(
            f"{len(bare)} of {len(lock)} packages have no hash: two builds of one version cannot be told "
            "apart",
            hint="uv pip compile --generate-hashes, or pip-compile --generate-hashes",
            place=Place(name, bare[0].line, 1, len(bare[0].text)),
        )


def _twice(context: Context) -> Iterator[Hit]:
    name, lock = _lock(context)
    first: dict[str, Requirement] = {}
    for item in lock:
        earlier = first.setdefault(item.name, item)
        if earlier is not item and item.name and not item.marker and not earlier.marker:
            yield Hit(
                f"`{item.name}` stands in line {earlier.line} ({earlier.version}) and in line {item.line} "
                f"({item.version})",
                hint="keep one of the two lines",
                place=Place(name, item.line, 1, len(item.text)),
            )


def _lock_contradicts(context: Context) -> Iterator[Hit]:
    name, lock = _lock(context)
    engine, version = context.engine, text_at(context.tree, "engine", "version")
    for item in lock:
        if (
            item.name == engine
            and item.version
            and item.version.partition("+")[0] != version.partition("+")[0]
        ):
            yield Hit(
                f"the lock has {engine} {item.version} and `engine.version` is {version}",
                hint="make the two agree",
                place=Place(name, item.line, 1, len(item.text)),
            )


def _build_label(context: Context) -> Iterator[Hit]:
    name, lock = _lock(context)
    device = section(context.tree, "hardware").get("device")
    if device not in {"cuda", "rocm"}:
        return
    for item in lock:
        if item.name != "torch" or not item.version:
            continue
        place = Place(name, item.line, 1, len(item.text))
        label = item.version.partition("+")[2].lower()
        if label == "cpu":
            yield Hit(f"torch {item.version} is built for CPU and `hardware.device` is {device}", place=place)
        elif not label and not item.hashed:
            yield Hit(
                f"torch {item.version} does not say what it was built for",
                hint="write the label (+cu124) or the hash",
                place=place,
                severity=WARNING,
            )


RULES: Final[tuple[Rule, ...]] = (
    Rule(
        "TL901", "variable-changes-kernels", WARNING, ("base",),
        what="An environment variable chooses a kernel that an option could name, makes two runs differ, or "
        "loads "
        "other code.",
        why="What an option says is resolved, compared and read back; a variable is a line nobody looks at. "
        "In public, "
        "one attention variable moved a maths benchmark by four points.",
        fix="Write the option named in the message. Where there is none, exempt the config with the reason.",
        check=_changes_kernels, needs="environment.variables",
    ),
    Rule(
        "TL902", "variable-from-host", ERROR, ("base",),
        what="A variable that shapes the output takes its value from the host (`env:NAME`).",
        why="Two hosts with one config then run other kernels, and no fingerprint of the config shows it.",
        fix="Write the value. `env:NAME` is for secrets.",
        check=_from_host, needs="environment.variables",
    ),
    Rule(
        "TL903", "variable-unknown", NOTE, ("base",),
        what="A variable that is not in tierlock's table.",
        why="It counts as shaping the output until someone says otherwise.",
        fix="Nothing to mend.",
        check=_unknown_variable, needs="environment.variables",
    ),
    Rule(
        "TL904", "variable-overrides-option", ERROR, ("base",),
        what="A variable and an option say different things about one setting. It is a warning when they "
        "agree.",
        why="Which of the two wins differs between engines and versions.",
        fix="Keep the option and remove the variable.",
        check=_overrides, needs="environment.variables",
    ),
    Rule(
        "TL905", "secret-variable", ERROR, ("base",),
        what="A variable whose name says that it holds a secret has a value in clear.",
        why="Whoever can read the repository has the secret, and git history keeps it.",
        fix='Write a reference: `HF_TOKEN: "env:HF_TOKEN"`. Replace the secret where it was issued.',
        check=_secret_variable, needs="environment.variables",
    ),
    Rule(
        "TL906", "secret-in-text", ERROR, ("base", "sampling", "prompts", "settings"),
        what="A token, key or password stands in a config, a prompt or a referenced file.",
        why="A prompt is sent to the model, logged and shown; a config is read by everyone with access.",
        fix="Remove it, and replace it where it was issued. The finding names the kind and the place, never "
        "the "
        "secret.",
        check=_secret_in_text,
    ),
    Rule(
        "TL907", "secret-in-endpoint", ERROR, ("binding",),
        what="A key or an authorisation header of an endpoint is written in clear.",
        why="Whoever can read the repository can call the service.",
        fix="Write a reference: `api_key: env:SERVICE_KEY`.",
        check=_secret_in_endpoint, needs="endpoint",
    ),
    Rule(
        "TL910", "packages-missing", WARNING, ("base",),
        what="The image has no digest and there is no lock file.",
        why="A kernel library in a transitive dependency decides which attention kernel runs.",
        fix="Add `environment.packages`, or pin the image by digest.",
        check=_packages_missing,
    ),
    Rule(
        "TL911", "lock-not-exact", ERROR, ("base",),
        what="A line of the lock file does not name one version.",
        why="The next installation takes another version.",
        fix="Write `name==version`, a commit (`@ git+…@<40 hexadecimal digits>`) or a URL with a hash.",
        check=_not_exact, needs="environment.packages",
    ),
    Rule(
        "TL912", "lock-without-hashes", WARNING, ("base",),
        what="Packages in the lock file have no hashes.",
        why="An index can serve several builds under one version: CUDA, CPU, rebuilt.",
        fix="Generate the lock with hashes.",
        check=_without_hashes, needs="environment.packages",
    ),
    Rule(
        "TL913", "lock-names-package-twice", ERROR, ("base",),
        what="The lock file names one package twice.",
        why="Some installers take the first line, some the last, some refuse.",
        fix="Keep one of the lines.",
        check=_twice, needs="environment.packages",
    ),
    Rule(
        "TL914", "lock-contradicts-engine", ERROR, ("base",),
        what="The lock file installs another version of the engine than `engine.version` says.",
        why="Options and defaults are resolved for the version in the config.",
        fix="Make the two agree.",
        check=_lock_contradicts, needs="environment.packages",
    ),
    Rule(
        "TL915", "build-of-torch", ERROR, ("base",),
        what="The lock file installs a CPU build of torch for a GPU. It is a warning when the build is not "
        "named.",
        why="A rebuild that takes the CPU wheel of the same version starts, and answers slowly and "
        "otherwise.",
        fix="Write the full version with its label: `torch==2.6.0+cu124`.",
        check=_build_label, needs="environment.packages",
    ),
)  # fmt: skip
