#!/usr/bin/env bash
# Runs the gate (or the audit) and the check, shows both in the log, the annotations and the step summary,
# and ends with their exit code: a block before anything else, then whatever is not 0.
set -uo pipefail

reports=$RUNNER_TEMP/tierlock-reports
rm -rf "$reports"
mkdir -p "$reports" || exit 3
worst=0

judge() {
  local name=$1 code
  shift
  "$TIERLOCK" "$@" -C "$TIERLOCK_ROOT" --format github --write "markdown=$reports/$name.md" \
    --write "sarif=$reports/$name.sarif" --write "junit=$reports/$name.xml" --write "json=$reports/$name.json"
  code=$?
  if [ ! -s "$reports/$name.md" ]; then
    # Nothing was reported, so nothing was judged; no program, no passing.
    echo "::error title=tierlock $1::no report was made (exit $code)"
    printf '### ⚠️ tierlock %s: undecided\n\nNo report was made (exit %s); the log says why.\n' "$1" "$code" >"$reports/$name.md"
    [ "$code" -eq 0 ] || [ "$code" -gt 125 ] && code=3
  fi
  if [ "$worst" -eq 0 ] || [ "$code" -eq 1 ]; then worst=$code; fi
}

gate=(review gate --ci github)
if [ "$TIERLOCK_BOOTSTRAP" = true ]; then gate+=(--bootstrap); fi
case ${GITHUB_EVENT_NAME:-} in
pull_request | pull_request_target | pull_request_review)
  if [ "$TIERLOCK_FORGE" = true ]; then gate+=(--forge github); fi
  ;;
esac
if [ -n "$TIERLOCK_AUDIT" ]; then gate=(review audit "$TIERLOCK_AUDIT"); fi

judge review "${gate[@]}"
if [ "$TIERLOCK_CHECK" = true ]; then judge check check --no-cache; fi

for name in review check; do
  if [ -f "$reports/$name.md" ]; then
    cat "$reports/$name.md" >>"$GITHUB_STEP_SUMMARY"
    echo >>"$GITHUB_STEP_SUMMARY"
  fi
done
if [ "$TIERLOCK_COMMENT" = true ]; then
  "${TIERLOCK_PYTHON:-python3}" -I "$GITHUB_ACTION_PATH/ci/github/comment.py" "$reports"/review.md "$reports"/check.md ||
    echo "::warning title=tierlock::the comment on the pull request could not be written; the verdict stands"
fi

case $worst in
0) outcome=pass ;;
1) outcome=block ;;
*) outcome=undecided ;;
esac
{
  echo "outcome=$outcome"
  echo "exit-code=$worst"
  echo "reports=$reports"
} >>"$GITHUB_OUTPUT"
exit "$worst"
