# shellcheck shell=bash disable=SC2154 # the variables are check's
# Trainings whose losses, weights and states are the original's on each variant. Sourced by check.

# A net of LeNet's shape; a net with a database, a thread that reads ahead, and test nets; the latter once more from its snapshot, and on two
# devices, for which a Caffe needs NCCL.
jobs=(lenet database resumed)
[ -z "$simulated" ] || jobs+=(devices)

# train JOB NAME VARIANT ITERATIONS [MODE [SECONDS]]: writes JOB.NAME.losses, .model (digests of the files that Caffe saved), .time (milliseconds), .log and
# .report (the library's), or prints why it failed.
train() {
  local job=$1 name=$work/$1.$2 folder=$work/$1.$2.folder solver=$1 status=0 arguments=()
  local settings=("${settings[@]}" SYNCEDMEM_REPORT="$name.report")
  case $job in
  resumed) solver=database arguments=(--snapshot=model_iter_10.solverstate) ;;
  devices) solver=database arguments=("--gpu=0,1") ;;
  esac
  rm -rf "$folder"
  mkdir -p "$folder"
  cp "$here"/nets/*.prototxt "$folder"
  { cat "$here/nets/$solver.solver" && printf 'max_iter: %d\nsolver_mode: %s\n' "$4" "${5:-GPU}"; } >"$folder/solver.prototxt"
  if [ "$solver" = database ]; then
    [ -d "$work/database" ] || caffe_run 30 original probe database "$work/database" >"$name.log" 2>&1 || { ending $? "$name.log" && return 1; }
    ln -s "$work/database" "$folder"
    [ "$job" != resumed ] || cp "$work/database.original.folder"/model_iter_10.* "$folder"
  fi
  (cd "$folder" && caffe_run "$(at_most "${6:-60}")" "$3" caffe train --solver=solver.prototxt "${arguments[@]}" >"$name.log" 2>&1) || status=$?
  if [ "$status" -ne 0 ]; then
    ending "$status" "$name.log"
    return 1
  fi
  # Iteration 7 (91.2 iter/s, 0.011s/1 iters), loss = 2.41, and of test nets: Test net output #1: loss = 2.3
  awk -v times="$name.times" '
    match($0, /Iteration [0-9]+/) {
      iteration = substr($0, RSTART, RLENGTH)
      # Leave out the first iterations, in which the device warms up.
      if (match($0, /iter\/s, [^s]*s/) && ++n > 5) print substr($0, RSTART + 8, RLENGTH - 9) * 1000 > times
    }
    match($0, /loss = [^ ]*/) { print iteration, substr($0, RSTART, RLENGTH) }' "$name.log" >"$name.losses"
  (cd "$folder" && sha256sum model_*) >"$name.model"
  [ ! -s "$name.times" ] || sort -g "$name.times" | awk '{ time[NR] = $1 } END { printf "%.3f\n", time[int((NR + 1) / 2)] }' >"$name.time"
}

# same_training JOB NAME: whether all losses and saved files equal the original's, to the bit.
same_training() {
  [ -s "$work/$1.original.losses" ] && cmp -s "$work/$1.original.losses" "$work/$1.$2.losses" && cmp -s "$work/$1.original.model" "$work/$1.$2.model"
}

near_training() { # near_training JOB NAME: whether each loss is the original's to 1 in 100
  paste "$work/$1.original.losses" "$work/$1.$2.losses" | awk '
    NF != 10 || $5 != $10 && ($5 > 1.01 * $10 || $10 > 1.01 * $5) { far = 1 }
    END { exit far || NR == 0 }'
}

trainings() { # trainings TITLE
  local job variant why exact=yes
  printf '\n### Trainings%s: %d iterations\n\n' "$1" "$iterations"
  printf '| | | ms per iteration (median) | last loss | digests of weights and state |\n|---|---|---:|---:|---|\n'
  for job in "${jobs[@]}"; do
    if [ ! -s "$work/$job.original.losses" ] && ! why=$(train "$job" original original "$iterations"); then
      skip "training, $job" "the original does not train here: $why" 2
      continue
    fi
    # On a device, two runs of the original may differ; then losses are compared to 1 in 100.
    if [ -z "$simulated" ] && [ "$job" = lenet ]; then
      if ! why=$(train lenet again original "$iterations") || ! same_training lenet again; then exact=''; fi
    fi
    [ -n "$1" ] || training_row "$job" original
    for variant in "${ours[@]}"; do
      if ! why=$(train "$job" "$variant" "$variant" "$iterations"); then
        fail "training$1, $job, $variant" "$why"
      elif same_training "$job" "$variant" || { [ -z "$exact" ] && near_training "$job" "$variant"; }; then
        pass
      else
        fail "training$1, $job, $variant" "the original and it differ, first in: $(
          paste -d '|' <(cat "$work/$job".original.{losses,model}) <(cat "$work/$job.$variant".{losses,model}) |
            awk -F '|' '$1 != $2 { print $1 " | " $2; exit }')"
      fi
      violations "training$1, $job, $variant" "$work/$job.$variant.log"
      training_row "$job" "$variant"
    done
  done
}

training_row() { # training_row JOB NAME
  [ ! -s "$work/$1.$2.model" ] || printf '| %s | %s | %s | %s | %s |\n' "$1" "$2" "$(cat "$work/$1.$2.time" 2>/dev/null)" \
    "$(tail -n 1 "$work/$1.$2.losses" | awk '{ print $NF }')" "$(cut -c 1-8 "$work/$1.$2.model" | paste -sd ' ')"
}

# sharing TITLE: the trainings of one device on shared memory, whose blocks are filled with NaN. `most` has the highest peak of LeNet's device memory
# with each setting, as a part of the original's.
sharing() {
  local share job why peaks
  local -A most=([gradients]=0.83 [all]=0.62)
  # cuDNN's workspaces are not shared.
  [ -z "$cudnn" ] || most=([gradients]=0.85 [all]=0.64 [parked]=0.64)
  printf '\n### Trainings on shared device memory%s\n\n' "$1"
  for share in "${shares[@]}"; do
    local settings=("${settings[@]}" SYNCEDMEM_SHARE="$share" SYNCEDMEM_JUNK_FILL=on)
    for job in lenet database resumed; do
      if ! why=$(train "$job" "$share" shared "$iterations"); then
        fail "shared memory$1, $job, $share" "$why"
        continue
      fi
      peaks=$(peak_of "$job.$share")/$(peak_of "$job.original" "$job.preloaded")
      if ! same_training "$job" "$share"; then
        fail "shared memory$1, $job, $share" "the losses or the saved files are not the original's"
      elif [ "$job" = lenet ] && [ -z "$1" ] && ! awk -v peaks="$peaks" -v most="${most[$share]}" 'BEGIN { split(peaks, peak, "/"); exit !(peak[1] > 0 && peak[1] <= most * peak[2]) }'; then
        fail "shared memory, $job, $share" "the peaks of device memory, $peaks, are over ${most[$share]}"
      else
        pass
        printf -- '- %s, %s: the same losses and files; peaks of device memory: %s\n' "$job" "$share" "$peaks"
      fi
      violations "shared memory$1, $job, $share" "$work/$job.$share.log"
    done
  done
}
