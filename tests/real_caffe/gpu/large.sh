# shellcheck shell=bash disable=SC2154 # the variables are check's
# Device memory of shared nets: of LeNet in training.sh, and of GoogLeNet and ResNet-50, trained, and the model tested. Images have 64 pixels a
# side on the simulated driver and 224 on a device. Sourced by check.

# reported NAME KIND: the peak of that memory, in MiB, by the library's own report.
reported() { awk -v kind="$2" '$1 == kind && $2 == "memory:" { print $3 * ($4 == "GiB" ? 1024 : $4 == "KiB" ? 1 / 1024 : 1) }' "$work/$1.report"; }

# peak_of NAME [NAME]: the peak of device memory. The simulated driver counts it in bytes. On a device the library reports it in MiB, and only of its
# own runs: the second name is the run that stands there for the original's.
peak_of() {
  if [ -n "$simulated" ]; then figures "$work/$1.log" | sed -n 's/^peak device|//p'; else reported "${2:-$1}" device; fi
}

# watched FILE COMMAND…: writes the device's memory in use to FILE while the command runs, in MiB.
watched() {
  local status=0 watcher=''
  if [ -z "$simulated" ]; then
    nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits --loop-ms=20 >"$1" &
    watcher=$!
  fi
  "${@:2}" || status=$?
  if [ -n "$watcher" ]; then
    kill "$watcher"
    wait "$watcher" || true
  fi
  return "$status"
}
in_use() { awk 'NR == 1 { first = $1 } $1 > most { most = $1 } END { print most - first }' "$work/$1.used"; } # in_use NAME: the most of it, beyond what others use

# large_run NET NAME VARIANT MODE [SETTING=VALUE…]: trains the net, and then tests the model on constant images: NET.NAME.train.log and NET.NAME.test.log, and
# what the library reports beside them. Prints why it failed.
large_run() {
  local name=$work/$1.$2 mode=$4 status=0 gpu=() settings=("${settings[@]}" "${@:5}")
  [ "$mode" = CPU ] || gpu=(--gpu=0)
  watched "$name.train.used" train "$1" "$2" "$3" 2 "$mode" 600 || return 1
  mv "$name.log" "$name.train.log"
  [ "$3" = original ] || mv "$name.report" "$name.train.report"
  settings+=(SYNCEDMEM_REPORT="$name.test.report")
  (cd "$name.folder" && sed 's/type: "uniform" min: -1 max: 1/type: "constant" value: 1/' "$1-train.prototxt" >test.prototxt &&
    watched "$name.test.used" caffe_run "$(at_most 300)" "$3" caffe test --model=test.prototxt --weights=model_iter_2.caffemodel --iterations=2 \
      "${gpu[@]}" >"$name.test.log" 2>&1) || status=$?
  [ "$status" -eq 0 ] || ending "$status" "$name.test.log"
  return "$status"
}

outputs() { sed -n 's/.*\(Batch [0-9]*, .*\)/\1/p' "$work/$1.test.log"; }

# large: how much less device memory is needed. The simulated driver's ratio may be 0.03 more than that of the blobs' bytes on the CPU. On a device and
# with cuDNN a process needs other memory too, and cuDNN's layers have other scratch on the CPU: there the memory in use falls by at least nine
# tenths of what the library says that blobs need less.
large() {
  local net what why device blobs mode=CPU kind=pageable lent=lent
  if [ -z "$simulated" ] || [ -n "$cudnn" ]; then mode=GPU kind=device lent=all; fi
  printf '\n### GoogLeNet and ResNet-50 on shared device memory\n\n'
  printf '| | device memory, shared and original | blobs, in MiB of %s memory |\n|---|---:|---:|\n' "$kind"
  for net in googlenet-8 resnet50; do
    if ! why=$(large_run "$net" original original GPU && large_run "$net" own preloaded "$mode" &&
      large_run "$net" all shared GPU SYNCEDMEM_SHARE=all && { [ "$lent" = all ] || large_run "$net" lent shared CPU SYNCEDMEM_SHARE=all; }); then
      fail "$net on shared memory" "$why"
      continue
    fi
    if same_training "$net" all && cmp -s <(outputs "$net.original") <(outputs "$net.all"); then
      pass
    else
      fail "$net on shared memory" "the losses, the saved files or the outputs are not the original's"
    fi
    for what in train test; do
      if [ -n "$simulated" ]; then
        device=$(peak_of "$net.all.$what")/$(peak_of "$net.original.$what")
      else
        device=$(in_use "$net.all.$what")/$(in_use "$net.original.$what")
      fi
      blobs=$(reported "$net.$lent.$what" "$kind")/$(reported "$net.own.$what" "$kind")
      if awk -v device="$device" -v blobs="$blobs" -v title="$net, $what" -v simulated="$simulated" -v mode="$mode" 'BEGIN {
        split(device, d, "/"); split(blobs, b, "/")
        if (!(d[1] && d[2] && b[1] && b[2])) exit 1
        printf "| %s | %s: %.2f | %s: %.2f |\n", title, device, d[1] / d[2], blobs, b[1] / b[2]
        if (mode == "CPU") exit d[1] / d[2] > b[1] / b[2] + 0.03
        if (simulated) { d[1] /= 1048576; d[2] /= 1048576 }
        exit d[2] - d[1] < 0.9 * (b[2] - b[1]) || b[1] >= b[2]
      }'; then pass; else fail "$net on shared memory, $what" "device memory peaks at $device, and blobs at $blobs"; fi
      violations "$net on shared memory, $what" "$work/$net.all.$what.log"
    done
  done
}
