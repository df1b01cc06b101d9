# shellcheck shell=bash
# Runs, counts and reports tests in shell scripts. Sourced, never run.
# work: a folder for the tests' files; removed at the end unless `keep` is set.
passed=0 failed=0
work=$(mktemp -d)
clean_up() { if [ -n "${keep:-}" ]; then note "kept: $work"; else rm -rf "$work"; fi; }
trap clean_up EXIT

# check NAME COMMAND…: one test. Any failing line of COMMAND fails it, and only then its output is shown.
check() {
  local name=$1 status=0
  shift
  set +e
  (set -e && "$@") >"$work/log" 2>&1
  status=$?
  set -e
  if [ $status -eq 0 ]; then
    passed=$((passed + 1))
    echo "ok - $name"
  else
    failed=$((failed + 1))
    echo "not ok - $name"
    tail -n 40 "$work/log" | sed 's/^/#   /'
  fi
}

# same WHAT EXPECTED ACTUAL
same() {
  [ "$2" = "$3" ] && return
  printf '%s: expected\n%s\nbut it is\n%s\n' "$1" "$2" "$3"
  return 1
}
complain() { echo "$*" && return 1; }

# summary NAME: the count, and the exit status that follows from it.
summary() {
  echo "$1: $passed passed, $failed failed"
  [ "$failed" -eq 0 ]
}
