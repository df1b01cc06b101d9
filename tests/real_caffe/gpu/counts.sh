# shellcheck shell=bash disable=SC2154 # the variables are check's
# What the memory layer asks of the simulated driver, beside the original's. Sourced by check.

# violations WHAT LOG: the rules that a process broke, from the report of the simulated driver in its log.
violations() {
  [ -n "$simulated" ] || return 0
  if grep -q '^simulated CUDA: violation' "$2"; then
    fail "$1: broken rules" "$(grep '^simulated CUDA: violation' "$2" | cut -c 28- | sort | uniq -c | sort -rn | head -n 3 | paste -sd ';')"
  else
    pass
  fi
}

# figures LOG…: `NAME NUMBER` of the reports in these logs, added, and the highest peaks.
figures() {
  awk '
    function take(name, number) { sum[name] += number }
    /^simulated CUDA: peaks:/ {
      for (i = 4; i <= NF; ++i) { split($i, part, "="); if (part[2] > peak[part[1]]) peak[part[1]] = part[2] }
    }
    /^simulated CUDA: idle/ { for (i = 6; i <= NF; ++i) { split($i, part, "="); take("idle at exit, " part[1], part[2]) } }
    /^simulated CUDA: alive/ {
      split($0, part, /[()]/)
      take("alive at exit, device", part[2] + 0)
      take("alive at exit, pinned", part[4] + 0)
    }
    /^simulated CUDA: copies:/ {
      for (i = 4; i <= NF; ++i) { split($i, part, /[=,]/); take("copies " part[1], part[2]); take("bytes " part[1], part[3]) }
    }
    /^simulated CUDA: calls:/ {
      for (i = 4; i <= NF; ++i) {
        split($i, part, "=")
        name = part[1]
        if (name ~ /^cuMemAlloc/) kind = "device allocations"
        else if (name ~ /^cuMemHost(Alloc|Register)/) kind = "page-locked allocations"
        else if (name ~ /^cuMemset/) kind = "fills"
        else if (name ~ /Synchronize$/) kind = "synchronisations"
        else if (name == "cuStreamWaitEvent") kind = "waits of a stream for an event"
        else if (name == "cuEventRecord") kind = "records of events"
        else if (name == "cuLaunchKernel") kind = "kernels"
        else if (name ~ /^cu(CtxGet|CtxSet|CtxPush|CtxPop|PointerGet|MemGetInfo|StreamGet|StreamIsCapturing|StreamQuery|EventQuery|DeviceGet|ThreadExchange)/) kind = "queries and switches of context"
        else continue
        take(kind, part[2])
      }
    }
    END {
      for (name in sum) print name "|" sum[name]
      for (name in peak) print "peak " name "|" peak[name]
    }' "$@"
}

rows=('tests that pass' 'device allocations' 'page-locked allocations' 'copies HtoD' 'bytes HtoD' 'copies DtoH' 'bytes DtoH' 'copies DtoD' 'bytes DtoD' fills kernels
  synchronisations 'records of events' 'waits of a stream for an event' 'queries and switches of context' 'peak device' 'peak pinned'
  'alive at exit, device' 'idle at exit, device' 'alive at exit, pinned' 'idle at exit, pinned')

# iteration JOB VARIANT: the figures of one iteration: those of ten more than its training had, divided.
iteration() {
  train "$1" more "$2" $((iterations + 10)) >&2 || return 1
  awk -F '|' 'NR == FNR { few[$1] = $2; next } $1 !~ /^peak|exit/ { printf "%s|%.10g\n", $1, ($2 - few[$1]) / 10 }' \
    <(figures "$work/$1.$2.log") <(figures "$work/$1.more.log")
}

# table: Markdown, of the files COLUMN.figures in the order of `columns`.
table() {
  local row column value
  printf '| | %s |\n|---|%s\n' "$(printf '%s | ' "${columns[@]}" | sed 's/ | $//')" "$(printf -- '---:|%.0s' "${columns[@]}")"
  for row in "${rows[@]}"; do
    printf '| %s |' "$row"
    for column in "${columns[@]}"; do
      value=$(awk -F '|' -v row="$row" '$1 == row { print $2 }' "$work/$column.figures")
      [[ ! $row =~ ^tests|^peak|exit || $column == tests* ]] || value=-
      printf ' %s |' "${value:-0}"
    done
    printf '\n'
  done
}

# count: makes the table, and compares it with that in the file, or writes it there.
count() {
  local job variant columns=() found=$work/counts.md
  for job in lenet database; do
    for variant in original linked; do
      columns+=("$job $variant")
      if ! iteration "$job" "$variant" >"$work/$job $variant.figures"; then
        fail "counts" "$job does not train on: $variant"
        return
      fi
    done
  done
  for variant in original linked; do
    columns+=("tests $variant")
    figures "$work"/tests.other.?."$variant".plain.err >"$work/tests $variant.figures"
    echo "tests that pass|$(grep -c '^passed' "$work/tests.other.$variant.results")" >>"$work/tests $variant.figures"
  done
  table >"$found"
  printf '\n### Counts: one iteration of a training, and the tests but for gradients\n\n'
  cat "$found"
  compare_peaks
  if [ -n "$counts_to" ]; then
    sed -i -e '/^| /d' -e '/^|---/d' "$counts_to"
    cat "$found" >>"$counts_to"
  elif why=$(compare_counts "$counts" "$found"); then
    pass
  else
    fail "counts" "$counts says otherwise (scripts/real-caffe --gpu --update writes it): $why"
  fi
}

# compare_peaks: the bound of memory is 1.10 of the original's, where every test has other shapes.
compare_peaks() {
  local why
  why=$(awk -F '|' '
    NR == FNR { original[$1] = $2; next }
    /^peak/ && $2 > 1.1 * original[$1] { printf "%s: %s bytes, and the original had %s; ", $1, $2, original[$1] }
  ' "$work/tests original.figures" "$work/tests linked.figures")
  if [ -z "$why" ]; then pass; else fail "peaks of memory" "$why"; fi
}

# compare_counts FILE FILE: what the nets themselves do, and all of lenet, which one thread trains, must be the same, but for queries, some of
# which depend on time. The others may differ by 1 in 10, and bytes of tests, which read images ahead, by a half: how far a thread has read
# ahead at the end is chance.
compare_counts() {
  awk -F ' *[|] *' '
    !/^\| / { next }
    NR == FNR { for (i = 3; i < NF; ++i) known[$2, i] = $i; lines++; next }
    { seen++ }
    { for (i = 3; i < NF; ++i) {
        a = known[$2, i]; b = $i
        exact = $2 ~ /^tests|DtoD|^fills|^kernels/ && i > 6
        slack = exact ? 0 : i < 5 ? $2 ~ /^queries/ : i < 7 ? 1 : 50
        most = i > 6 && $2 ~ /^bytes/ ? 1.5 : 1.1
        if (a == b || (slack && a <= most * b + slack && b <= most * a + slack)) continue
        printf "%s, column %d: %s instead of %s; ", $2, i - 2, b, a; wrong = 1
      } }
    END { exit wrong || lines != seen }' "$1" "$2"
}
