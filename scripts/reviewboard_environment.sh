#!/usr/bin/env bash
# Makes .venv-reviewboard: a real Review Board and waitress to serve it, for tests/contracts/test_reviewboard_server.py.
# Does nothing when it is there. 400 MB; the site itself is made by the test, in a folder of its own.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3.11}
folder=.venv-reviewboard
stamp=$folder/.tierlock-$(sha256sum requirements/reviewboard.txt | cut -c1-16)

if [ ! -f "$stamp" ]; then
  rm -rf "$folder"
  "$python" -m venv "$folder"
  "$folder/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/reviewboard.txt
  touch "$stamp"
fi
