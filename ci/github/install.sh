#!/usr/bin/env bash
# Installs the tierlock that this action is, from its own commit, with every dependency pinned by hash.
# Nothing of the repository under judgement is read.
set -euo pipefail

refuse() {
  echo "::error title=tierlock::$1"
  exit 3
}

python=${TIERLOCK_PYTHON:-python3}
command -v "$python" >/dev/null || refuse "there is no $python on this runner%0Aset the input python"
"$python" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' ||
  refuse "tierlock needs Python 3.11 to 3.13, and this is $("$python" -V 2>&1)%0Ause actions/setup-python, or set the input python"

home=$RUNNER_TEMP/tierlock
cd "$GITHUB_ACTION_PATH"
"$python" -m venv "$home" || refuse "$python cannot make a virtual environment"
install=("$home/bin/python" -I -m pip --disable-pip-version-check --quiet install)
for file in runtime build; do
  "${install[@]}" --require-hashes -r "requirements/$file.txt" || refuse "the pinned dependencies cannot be installed"
done
"${install[@]}" --no-deps --no-build-isolation "$GITHUB_ACTION_PATH" || refuse "tierlock cannot be installed"
echo "command=$home/bin/tierlock" >>"$GITHUB_OUTPUT"
