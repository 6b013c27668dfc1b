"""The option tables of engines without a package are read from their source, not typed in."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = str(Path(__file__).parents[3] / "scripts")
LAUNCHER = """
#[derive(Clone, Copy, Debug, ValueEnum)]
enum KVCacheDtype {
    #[clap(name = "fp8_e4m3fn")]
    Fp8e4m3fn,

    Fp8e5m2,
}

struct Args {
    /// The name of the model to load.
    #[clap(default_value = "bigscience/bloom-560m", long, env)]
    model_id: String,

    #[clap(long, env)]
    sharded: Option<bool>,

    #[clap(long, env, value_enum)]
    kv_cache_dtype: Option<KVCacheDtype>,

    #[clap(default_value = "0.3", long, env)]
    waiting_served_ratio: f32,

    #[clap(default_value = "3000", long, short, env)]
    port: u16,

    #[clap(long, env)]
    trust_remote_code: bool,

    #[clap(long, env, value_delimiter = ',')]
    cuda_graphs: Option<Vec<usize>>,
}
"""
VALIDATION = """
        let temperature = temperature.unwrap_or(1.0);
        let top_p = top_p
            .map(|value| { Ok(value) })
            .unwrap_or(Ok(1.0))?;
        let top_k: u32 = top_k
            .map(|value| { Ok(value as u32) })
            .unwrap_or(Ok(0))?;
"""
CHAT = """
        let repetition_penalty = presence_penalty.map(|x| x + 2.0);
        let (do_sample, temperature) = match temperature {
            Some(0.0) => (false, None),
        top_k: None,
"""
TYPES = """
type Options struct {
	Runner
	Temperature float32  `json:"temperature,omitempty"`
	Stop        []string `json:"stop,omitempty"`
}
type Runner struct {
	NumCtx  int   `json:"num_ctx,omitempty"`
	UseMMap *bool `json:"use_mmap,omitempty"`
}
func DefaultOptions() Options {
	return Options{
		Temperature:      0.8,
		Runner: Runner{
			NumCtx:    int(envconfig.ContextLength()),
			UseMMap:   nil,
		},
	}
}
"""
OPENAI = """
	if r.Temperature != nil {
		options["temperature"] = *r.Temperature
	} else {
		options["temperature"] = 1.0
	}
"""
CONFIG = """
	ContextLength = Uint("OLLAMA_CONTEXT_LENGTH", 4096)
		"OLLAMA_CONTEXT_LENGTH": {"OLLAMA_CONTEXT_LENGTH", ContextLength(), "Context length (default: 4096)"},
		"OLLAMA_KV_CACHE_TYPE": {"OLLAMA_KV_CACHE_TYPE", KvCacheType(), "K/V type (default: f16)"},
"""


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one tagged version of both engines' files."""
    monkeypatch.syspath_prepend(SCRIPTS)
    files = {
        "launcher/src/main.rs": LAUNCHER,
        "router/src/validation.rs": VALIDATION,
        "router/src/lib.rs": CHAT,
        "api/types.go": TYPES,
        "envconfig/config.go": CONFIG,
        "openai/openai.go": OPENAI,
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    git = ["git", "-C", str(tmp_path), "-c", "user.name=t", "-c", "user.email=t@example.org"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "x"], ["tag", "v1.0.0"]):
        subprocess.run([*git, *words], check=True, capture_output=True)
    return tmp_path


def test_clap_options_are_read_with_flag_variable_type_choices_and_default(checkout: Path) -> None:
    from extractors import tgi
    from extractors.checkout import Checkout

    found = tgi.extract(Checkout(checkout, "v1.0.0"))
    options = {name: {k: v for k, v in o.items() if k != "help"} for name, o in found["options"].items()}
    assert options == {
        "model_id": {
            "flags": ["--model-id"],
            "env": "MODEL_ID",
            "type": "str",
            "default": "bigscience/bloom-560m",
        },
        "sharded": {"flags": ["--sharded"], "env": "SHARDED", "type": "str", "choices": ["true", "false"]},
        "kv_cache_dtype": {
            "flags": ["--kv-cache-dtype"],
            "env": "KV_CACHE_DTYPE",
            "type": "str",
            "choices": ["fp8_e4m3fn", "fp8e5m2"],
        },
        "waiting_served_ratio": {
            "flags": ["--waiting-served-ratio"],
            "env": "WAITING_SERVED_RATIO",
            "type": "float",
            "default": 0.3,
        },
        "port": {"flags": ["--port", "-p"], "env": "PORT", "type": "int", "default": 3000},
        "trust_remote_code": {
            "flags": ["--trust-remote-code"],
            "env": "TRUST_REMOTE_CODE",
            "type": "bool",
            "default": False,
        },
        "cuda_graphs": {"flags": ["--cuda-graphs"], "env": "CUDA_GRAPHS", "type": "str"},
    }
    assert {name: entry["unset"] for name, entry in found["request"].items()} == {
        "temperature": 1.0,
        "top_p": 1.0,
        "top_k": 0,
    }
    assert found["facts"]["chat_presence_becomes_repetition_plus"] == 2.0
    assert found["facts"]["chat_greedy_at_zero"] is True
    assert found["facts"]["chat_drops"] == ["top_k"]


def test_go_defaults_are_read_and_computed_ones_stay_computed(checkout: Path) -> None:
    from extractors import ollama
    from extractors.checkout import Checkout

    found = ollama.extract(Checkout(checkout, "v1.0.0"))
    assert found["sampling"] == {
        "temperature": {"type": "float", "default": 0.8},
        "stop": {"type": "list"},
        "num_ctx": {"type": "int", "computed": "int(envconfig.ContextLength())"},
        "use_mmap": {"type": "bool"},
    }
    assert found["environment"]["OLLAMA_CONTEXT_LENGTH"] == {"type": "int", "default": 4096}
    assert found["environment"]["OLLAMA_KV_CACHE_TYPE"] == {"type": "str", "default": "f16"}
    assert found["request"]["temperature"]["unset"] == 1.0


def test_the_source_names_the_files_read_and_their_digest(checkout: Path) -> None:
    from extractors.checkout import Checkout

    version = Checkout(checkout, "v1.0.0")
    assert version.read("no/such/file") == ""
    assert version.read("no/such/file", "api/types.go") == TYPES
    source = version.source("ollama")
    assert (source["version"], source["file"]) == ("1.0.0", "api/types.go")
    assert len(str(source["sha256"])) == 64
    assert SCRIPTS in sys.path
