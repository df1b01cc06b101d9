# shellcheck shell=bash disable=SC2034,SC2154 # sourced by run, which has what is missing here and uses what is set
# The steps of a run, the most valuable first, and what runs in each.

steps=(
  1 facts 'what the driver, the device and the machine say of themselves'
  2 conformance 'whether the driver keeps the rules that the library relies on'
  3 bytes 'right bytes: copies, pool reuse, reset, exit, fork; kernels beside the library'
  4 blocks 'blocks acquired and released, beside the driver'
  5 caffe 'a Caffe built for GPUs: its tests and a training, original first'
  6 suites 'the C++ and Rust device suites'
)

run_steps() {
  part facts facts text 40 "$here/facts"
  part conformance conformance suite 60 "$here/driver-conformance" --limit 12
  bench bytes 90
  interplay
  bench blocks 45
  caffe
  suites
}

# skip STEP NAME REASON: a part that cannot run here.
skip() { said "$1" "$2" 77 "skipped: $2: $3"; }

# bench SECTION SECONDS: a section of device-bench, which is a step.
bench() {
  local options=()
  [ -z "$simulated" ] || options=(--simulated --seconds 1 --largest 1M)
  part "$1" "$1" text "$2" "$here/device-bench" --library "$here/lib/libsyncedmem.so" --only "$1" --json "$json" \
    ${options[@]+"${options[@]}"}
}

# By driver calls, with a kernel in PTX that the driver compiles; by the CUDA runtime where there is nvcc.
interplay() {
  local nvcc
  part bytes interplay suite 45 "$here/interplay-by-driver"
  nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
  if [ -n "$simulated" ]; then
    skip bytes interplay-with-the-runtime 'the CUDA runtime does not run on the simulated driver'
  elif [ ! -x "$nvcc" ]; then
    skip bytes interplay-with-the-runtime 'there is no nvcc to compile it'
  else
    part bytes interplay-with-the-runtime suite 75 "$here/interplay-by-runtime" "$nvcc"
  fi
}

caffe() {
  # The suites keep a minute.
  local seconds=$(($(left) > 180 ? 120 : $(left) - 60))
  if [ -n "$simulated" ]; then
    skip caffe caffe 'on the simulated driver, scripts/real-caffe --gpu --test runs it'
  elif [ ! -x "$here/gpu-caffe/check" ]; then
    skip caffe caffe 'it is not built here: scripts/real-caffe --gpu --archive builds it'
  else
    part caffe caffe text "$seconds" "$here/gpu-caffe/check" --limit $((seconds - 5))
  fi
}

# C++ first, whose suites are those of Caffe's users.
suites() {
  local file program name
  for program in "$here"/cpp/* "$here"/rust/*; do
    [ -x "$program" ] || continue
    name=${program%/*}
    name=${name##*/}-${program##*/}
    part suites "$name" suite 60 env SYNCEDMEM_TEST_POOLS=on "$program"
  done
  for file in "$here"/not_built/*; do
    [ ! -f "$file" ] || said suites "${file##*/}" 1 "$(<"$file")"
  done
  # Suites that run no test on a real driver are not in the archive; --prepare kept their reasons here.
  for file in "$here"/left_out/*; do
    [ ! -f "$file" ] || said suites "${file##*/}" 77 "$(<"$file")"
  done
}
