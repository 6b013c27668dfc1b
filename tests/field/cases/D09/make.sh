#!/usr/bin/env bash
# Builds the git state for this case in the folder given as $1 (default: ./work). Refuses to reuse a folder.
set -euo pipefail
W="${1:-$PWD/work}"
if [ -e "$W" ]; then echo "refusing: $W already exists" >&2; exit 2; fi
mkdir -p "$W"; W="$(cd "$W" && pwd)"
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 LC_ALL=C.UTF-8
export GIT_AUTHOR_NAME="Author A" GIT_AUTHOR_EMAIL="author-a@example.org"
export GIT_COMMITTER_NAME="Author A" GIT_COMMITTER_EMAIL="author-a@example.org"
at(){ export GIT_AUTHOR_DATE="$1" GIT_COMMITTER_DATE="$1"; }
at "2025-03-01T09:00:00+08:00"
tiers(){ # write the three tier files into $1
  mkdir -p "$1/tiers/prompts"
  cat > "$1/tiers/base.yaml" <<'EOF'
model:
  id: acme/tern-7b-chat
  revision: "4f1c2d9e8b7a6051a3b1c2d3e4f50617a8b9c0d1"
  tokenizer_revision: "4f1c2d9e8b7a6051a3b1c2d3e4f50617a8b9c0d1"
dtype: bfloat16
quantization: none
kv_cache_dtype: auto
max_model_len: 8192
engine:
  name: vllm
  version: "0.8.4"
attention_backend: FLASH_ATTN
hardware:
  gpu: L40S
  count: 1
image: registry.corp.example/infer/tern@sha256:abababababababababababababababababababababababababababababababab
EOF
  cat > "$1/tiers/sampling.yaml" <<'EOF'
temperature: 0.2
top_p: 0.9
top_k: 40
min_p: 0.0
repetition_penalty: 1.05
max_tokens: 512
seed: 42
stop: ["</answer>"]
EOF
  cat > "$1/tiers/prompts/system.yaml" <<'EOF'
system: |-
  You answer questions about parcel delivery. Reply in Chinese.
output_format: json
few_shot: []
EOF
}

cd "$W"; git init -q -b main repo; cd repo; tiers .; git add -A
git rev-parse HEAD >/dev/null 2>&1 || echo 'repo: no HEAD yet, staged=['"$(git diff --cached --name-only --root 2>/dev/null | tr '\n' ' ')"']'
mkdir "$W/empty"; cd "$W/empty"; git init -q -b main .
cd "$W"; git init -q -b main detached; cd detached; tiers .; git add -A; git commit -qm a; git checkout -q --detach; sed -i 's/top_p: 0.9/top_p: 0.8/' tiers/sampling.yaml; git add -A
