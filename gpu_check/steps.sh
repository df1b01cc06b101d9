# shellcheck shell=bash disable=SC2034,SC2154 # sourced by run, which has what is missing here and uses what is set
# The steps of a run, the most valuable first, and what runs in each.

steps=(
  1 facts 'what the driver, the device and the machine say of themselves'
  2 calls 'nanoseconds of every driver call on a hot or warm path'
  3 conformance 'whether the driver keeps the rules that the library relies on'
  4 bytes 'right bytes with defaults: copies, pool reuse, reset, exit, fork; kernels beside the library'
  5 blocks 'blocks acquired and released, beside the driver, PyTorch and CuPy'
  6 pageable 'copies of pageable memory, by threads and slots, beside cuMemcpy'
  7 pinned 'page-locked memory: allocated against registered'
  8 pinned-copies 'copies of page-locked memory, beside cuMemcpy'
  9 capture 'stream and graph capture beside the library'
  10 caffe 'a Caffe built for GPUs: its tests and a training, original first'
  11 suites 'the C++ and Rust device suites, with defaults and with everything opt-in switched on'
)

# Everything opt-in switched on.
optin=(SYNCEDMEM_STAGE_FROM=65536 SYNCEDMEM_PINNED_BLOCKS=registered SYNCEDMEM_REUSE=stream)

run_steps() {
  part facts facts text 40 "$here/facts"
  sections calls 30 calls ready
  part conformance conformance suite 60 "$here/driver-conformance" --limit 12
  sections bytes 90 bytes
  interplay
  sections blocks 45 blocks churn
  caching_allocators
  sections pageable 60 pageable_copies
  sections pinned 45 pinned_ways
  sections pinned-copies 30 pinned_copies
  sections capture 30 capture
  python capture torch-capture 60 torch_capture.py
  # A section that belongs to no step yet.
  sections capture 30 ${unclaimed[@]+"${unclaimed[@]}"}
  caffe
  suites
}

# skip STEP NAME REASON: a part that cannot run here.
skip() { said "$1" "$2" 77 "skipped: $2: $3"; }

# sections STEP SECONDS NAME…: those of device-bench's sections that it has, each within so many seconds.
known=" $(timeout 10 "$here/device-bench" --list 2>/dev/null | tr '\n' ' ')"
unclaimed=()
for section in $known; do
  case $section in
  calls | ready | bytes | blocks | churn | pageable_copies | pinned_ways | pinned_copies | capture) ;;
  *) unclaimed+=("$section") ;;
  esac
done
sections() {
  local step=$1 seconds=$2 name found='' options=()
  shift 2
  [ -z "$simulated" ] || options=(--simulated --seconds 1 --largest 1M)
  for name in "$@"; do
    case $known in *" $name "*) ;; *) continue ;; esac
    part "$step" "$name" text "$seconds" "$here/device-bench" --library "$here/lib/libsyncedmem.so" --only "$name" \
      --json "$json" ${options[@]+"${options[@]}"}
    found=yes
  done
  # A program that lists nothing is broken, which this shows.
  [ -n "$found" ] || [ $# -eq 0 ] || part "$step" "$step" text 5 "$here/device-bench" --list
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

caching_allocators() {
  local options=(--json "$json" --seconds 0.3)
  [ -z "$simulated" ] || options=(--json "$json" --seconds 0.02 --largest 1)
  python blocks caching-allocators 60 caching_allocators.py "${options[@]}"
}

# python STEP NAME SECONDS PROGRAM OPTION…
python() {
  local step=$1 name=$2 seconds=$3 program=$here/$4
  shift 4
  if [ ! -f "$program" ]; then
    :
  elif ! command -v python3 >/dev/null; then
    skip "$step" "$name" 'there is no python3'
  else
    part "$step" "$name" text "$seconds" python3 -B "$program" --library "$here/lib/libsyncedmem.so" "$@"
  fi
}

caffe() {
  # The suites keep a minute.
  local seconds=$(($(left) > 180 ? 120 : $(left) - 60))
  if [ ! -x "$here/gpu-caffe/check" ]; then
    skip caffe caffe 'it is not built here: scripts/real-caffe --gpu builds it'
  else
    part caffe caffe text "$seconds" "$here/gpu-caffe/check" ${simulated:+--simulated "$here/simulated"} --limit $((seconds - 5))
  fi
}

# every_suite SUFFIX SETTING…: C++ first, whose suites are those of Caffe's users.
every_suite() {
  local suffix=$1 program name
  shift
  for program in "$here"/cpp/* "$here"/rust/*; do
    [ -x "$program" ] || continue
    name=${program%/*}
    name=${name##*/}-${program##*/}
    part suites "$name$suffix" suite 60 env SYNCEDMEM_TEST_POOLS=on "$@" "$program"
  done
}

suites() {
  local file
  every_suite ''
  every_suite -opt-in "${optin[@]}"
  for file in "$here"/not_built/*; do
    [ ! -f "$file" ] || said suites "${file##*/}" 1 "$(<"$file")"
  done
  # Suites that run no test on a real driver are not in the archive; --prepare kept their reasons here.
  for file in "$here"/left_out/*; do
    [ ! -f "$file" ] || said suites "${file##*/}" 77 "$(<"$file")"
  done
}
