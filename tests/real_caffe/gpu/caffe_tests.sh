# shellcheck shell=bash disable=SC2154 # the variables are check's
# Caffe's own tests, on each variant. Sourced by check.

# list_tests: the names of the tests for the device. Suites for all types and devices have the device's at 2 and
# 3. With cuDNN these are by day the tests of its layers alone. Tests of Caffe's Benchmark compare clocks, which depends on other programs and
# not on memory.
list_tests() {
  local pattern='GPU|Im2colKernel|/[23][.]$|^CuDNN'
  [ -z "$cudnn" ] || [ -n "$nightly" ] || pattern=^CuDNN
  (cd "$here/data" && { caffe_run 60 original caffe-gtest --gtest_list_tests 2>"$work/list.err" || true; }) | awk -v pattern="$pattern" '
    /^[^ ]+\.( |$)/ { suite = $1; next }
    /^  / && !/DISABLED_/ && suite !~ /^Benchmark/ && (suite ~ pattern || $1 ~ pattern) { print suite $1 }'
}

# run_part VARIANT LIST UNTIL: writes `STATE TEST` of each test to LIST.VARIANT. After a test that ends the process the others are run.
run_part() {
  local variant=$1 list=$2 until=$3 rest=$2.$1.rest out=$2.$1.out results=$2.$1 status
  cp "$list" "$rest"
  : >"$results"
  while [ -s "$rest" ] && [ "$SECONDS" -lt "$until" ]; do
    status=0
    (cd "$here/data" && caffe_run $((until - SECONDS)) "$variant" caffe-gtest --gtest_filter="$(paste -sd : "$rest")" >"$out" 2>"$out.err") || status=$?
    awk -v status="$status" '
      $1 == "[" && $2 == "RUN" { began = $4 }
      $1 == "[" && $2 == "OK" { print "passed", $4; began = "" }
      /^\[  FAILED  \]/ && began != "" { print "failed", began; began = "" }
      END { if (began != "") print (status == 124 || status == 137 ? "unfinished" : "died"), began }' "$out" >"$out.new"
    # A process that ends before its first test is not run again.
    [ -s "$out.new" ] || break
    cat "$out.new" >>"$results"
    awk 'NR == FNR { seen[$2]; next } !($1 in seen)' "$results" "$list" >"$rest"
  done
}

# run_parts VARIANT LISTS UNTIL: each of LISTS.0, LISTS.1, … in its own process; writes LISTS.VARIANT.results and prints a row.
run_parts() {
  local variant=$1 start=$SECONDS part parts=() workers=()
  for part in "$2".?; do
    run_part "$variant" "$part" "$3" &
    workers+=($!)
    parts+=("$part.$variant")
  done
  wait "${workers[@]}"
  cat "${parts[@]}" >"$2.$variant.results"
  awk -v all="$(cat "$2".? | wc -l)" -v variant="$variant" -v seconds=$((SECONDS - start)) '
    { n[$1]++ }
    END { printf "| %s | %d | %d | %d | %d | %d |\n", variant, n["passed"], n["failed"], n["died"] + n["unfinished"], all - NR, seconds }
  ' "$2.$variant.results"
}

# compare_tests VARIANT LISTS TITLE: each test that the original passes must pass here too.
compare_tests() {
  local kind test wrong=0 shown=10
  while read -r kind test; do
    case $kind in
    same) pass "$test" ;;
    late) [ "$test" -eq 0 ] || skip "Caffe's tests, $1" "no time was left for $test" "$test" ;;
    *)
      wrong=$((wrong + 1))
      [ "$wrong" -gt "$shown" ] || printf "not ok: Caffe's tests%s, %s: %s passes on the original, and here: %s\n" "$3" "$1" "$test" "$kind"
      ;;
    esac
  done < <(awk '
    NR == FNR { here[$2] = $1; next }
    here[$1] == "passed" { same++; next }
    here[$1] == "" { late++; next }
    { print here[$1], $1 }
    END { print "same", same + 0; print "late", late + 0 }' "$2.$1.results" <(cat "$2".?))
  failed=$((failed + wrong))
  [ "$wrong" -le "$shown" ] || printf "not ok: Caffe's tests%s, %s: and %d more\n" "$3" "$1" $((wrong - shown))
}

# tests KIND KEPT TITLE: runs the tests of gradients ("gradient") or the others, and leaves KEPT seconds. The original runs them once; the
# library runs those that pass on the original.
tests() {
  local variant workers until start others=${#ours[@]} lists=$work/tests.$1 all part variants=("${ours[@]}")
  printf '\n### Caffe'\''s own tests for the device: %s%s\n\n' "${1/other/but for gradients}" "$3"
  [ -s "$work/tests" ] || list_tests >"$work/tests"
  if [ ! -s "$work/tests" ]; then
    fail "Caffe's tests" "caffe-gtest lists none: $(head -n 1 "$work/list.err")"
    return
  fi
  workers=$(($(nproc) / 2))
  workers=$((workers < 1 ? 1 : workers > 6 ? 6 : workers))
  if [ ! -e "$lists.original.results" ]; then
    variants=(original "${ours[@]}")
    others=$((others + 1))
    awk -v pattern="$1" -v workers="$workers" -v to="$lists." '(/Gradient/ ? "gradient" : "other") == pattern { print > (to (n++ % workers)) }' "$work/tests"
    cat "$lists".? >"$lists.all"
  fi
  all=$(wc -l <"$lists.all")
  printf '%d tests, %d at once.\n\n' "$(cat "$lists".? | wc -l)" "$workers"
  printf '| | passed | failed | ended the process | not run | seconds |\n|---|---:|---:|---:|---:|---:|\n'
  for variant in "${variants[@]}"; do
    start=$SECONDS until=$((SECONDS + ($(left) - $2) / others))
    run_parts "$variant" "$lists" "$until"
    if [ "$variant" = original ]; then
      for part in "$lists".?; do awk '$1 == "passed" { print $2 }' "$part.original" >"$part"; done
    fi
    # Counts are those of the first run.
    for part in "$lists".?; do [ -e "$part.$variant.plain.err" ] || [ ! -s "$part" ] || cp "$part.$variant.out.err" "$part.$variant.plain.err"; done
    others=$((others - 1))
  done
  printf '\n'
  if [ "${variants[0]}" = original ]; then
    awk '$1 != "passed" { n[$1] = n[$1] " " $2 } END { for (kind in n) print "On the original, " kind ":" substr(n[kind], 1, 1000) "\n" }' "$lists.original.results"
    others=$((all - $(cat "$lists".? | wc -l)))
    [ "$others" -eq 0 ] || skip "Caffe's tests" "$others of $all do not pass on the original, or it had no time for them" "$others"
  fi
  for variant in "${ours[@]}"; do
    compare_tests "$variant" "$lists" "$3"
    for part in "$lists".?; do violations "Caffe's tests$3, $variant" "$part.$variant.out.err"; done
  done
}
