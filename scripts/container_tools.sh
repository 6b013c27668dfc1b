#!/usr/bin/env bash
# Installs what the container tests need: podman-compose into .cache/compose, and from Debian or Ubuntu a registry,
# skopeo and umoci, podman with runc. Does nothing when they are there. 160 MB. What cannot be had is said, and what needs it is skipped with that
# reason: this never fails a build.
set -uo pipefail
cd "$(dirname "$0")/.."
declare -A packages=(
  [docker-registry]=docker-registry [skopeo]=skopeo [umoci]=umoci [podman]=podman [runc]=runc
  [catatonit]=catatonit [busybox]=busybox-static
)
PATH=$PATH:/usr/sbin:/usr/libexec/podman:/usr/lib/podman

missing() {
  local program
  for program in "${!packages[@]}"; do
    command -v "$program" >/dev/null || echo "$program"
  done | sort
}

left_out() {
  echo "no $(missing | paste -sd, | sed 's/,/, /g'): $1; the tests with real containers are skipped, and say so"
  exit 0
}

compose() {
  local folder=.cache/compose python=${PYTHON:-python3}
  [ -x $folder/bin/podman-compose ] && [ $folder/made -nt requirements/compose.txt ] && return
  "$python" -m venv $folder &&
    $folder/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/compose.txt &&
    touch $folder/made ||
    echo "no podman-compose: the tests with it are skipped, and say so"
}

compose
[ -z "$(missing)" ] && exit 0
[ "$(uname -s)" = Linux ] || left_out "this is no Linux"
command -v apt-get >/dev/null || left_out "they are installed with apt-get, which is not here"
run=()
if [ "$(id -u)" != 0 ]; then
  command -v sudo >/dev/null && sudo -n true 2>/dev/null || left_out "apt-get needs root"
  run=(sudo -n)
fi

wanted=()
for program in $(missing); do wanted+=("${packages[$program]}"); done
echo "installing ${wanted[*]}"
log=$(mktemp)
export DEBIAN_FRONTEND=noninteractive
"${run[@]}" apt-get update -qq >"$log" 2>&1
# One by one when they do not come together: what there is serves the tests that need no more.
"${run[@]}" apt-get install -y -qq --no-install-recommends "${wanted[@]}" fuse-overlayfs >>"$log" 2>&1 ||
  for package in "${wanted[@]}"; do
    "${run[@]}" apt-get install -y -qq --no-install-recommends "$package" >>"$log" 2>&1 || true
  done
tail=$(tail -1 "$log")
rm -f "$log"
[ -z "$(missing)" ] || left_out "apt-get says: $tail"
