#!/usr/bin/env bash
# What we ask of others, asked of our own configs: every file checked, records whole, and what landed audited as
# soon as there is a policy to audit by (docs/adr/0016-our-own-configs.md). $1 is the tierlock to use.
set -euo pipefail
cd "$(dirname "$0")/.."
tierlock=${1:-.venv/bin/tierlock}

"$tierlock" check --no-cache
"$tierlock" review records
if grep -q '^review:' tierlock.yaml; then
  "$tierlock" review audit
fi
