# shellcheck shell=bash disable=SC2154 # the variables are check's
# GoogLeNet and ResNet-50 on shared device memory, with images of 64 pixels a side: trained, and the model tested. Sourced by check.

# large_run NET NAME VARIANT MODE [SETTING=VALUE…]: trains the net, and then tests the model on constant images: NET.NAME.train.log and NET.NAME.test.log, and
# what the library reports beside them. Prints why it failed.
large_run() {
  local name=$work/$1.$2 mode=$4 status=0 gpu=() logged=("${settings[@]}" "${@:5}")
  [ "$mode" = CPU ] || gpu=(--gpu=0)
  local settings=("${logged[@]}" SYNCEDMEM_REPORT="$name.train.report")
  train "$1" "$2" "$3" 2 "$mode" 600 || return 1
  mv "$name.log" "$name.train.log"
  settings=("${logged[@]}" SYNCEDMEM_REPORT="$name.test.report")
  (cd "$name.folder" && sed 's/type: "uniform" min: -1 max: 1/type: "constant" value: 1/' "$1-train.prototxt" >test.prototxt &&
    caffe_run "$(at_most 300)" "$3" caffe test --model=test.prototxt --weights=model_iter_2.caffemodel --iterations=2 "${gpu[@]}" \
      >"$name.test.log" 2>&1) || status=$?
  [ "$status" -eq 0 ] || ending "$status" "$name.test.log"
  return "$status"
}

device_peak() { figures "$1.log" | sed -n 's/^peak device|//p'; }
blobs_peak() { awk '/^pageable memory:/ { print $3 * ($4 == "GiB" ? 1024 : 1) }' "$1.report"; }
outputs() { sed -n 's/.*\(Batch [0-9]*, .*\)/\1/p' "$1.test.log"; }

# large: the most that the device's memory peaks at is, as a part of the original's, that of the blobs' bytes on the CPU, and 0.03 more.
large() {
  local net what why device blobs
  printf '\n### GoogLeNet and ResNet-50 on shared device memory\n\n'
  printf '| | device memory, shared and original | blobs on the CPU, in MiB |\n|---|---:|---:|\n'
  for net in googlenet-8 resnet50; do
    if ! why=$(large_run "$net" original original GPU && large_run "$net" own preloaded CPU &&
      large_run "$net" all shared GPU SYNCEDMEM_SHARE=all && large_run "$net" lent shared CPU SYNCEDMEM_SHARE=all); then
      fail "$net on shared memory" "$why"
      continue
    fi
    if same_training "$net" all && cmp -s <(outputs "$work/$net.original") <(outputs "$work/$net.all"); then
      pass
    else
      fail "$net on shared memory" "the losses, the saved files or the outputs are not the original's"
    fi
    for what in train test; do
      device=$(device_peak "$work/$net.all.$what")/$(device_peak "$work/$net.original.$what")
      blobs=$(blobs_peak "$work/$net.lent.$what")/$(blobs_peak "$work/$net.own.$what")
      if awk -v device="$device" -v blobs="$blobs" -v title="$net, $what" 'BEGIN {
        split(device, d, "/"); split(blobs, b, "/")
        if (!(d[1] && d[2] && b[1] && b[2])) exit 1
        printf "| %s | %s: %.2f | %s: %.2f |\n", title, device, d[1] / d[2], blobs, b[1] / b[2]
        exit d[1] / d[2] > b[1] / b[2] + 0.03
      }'; then pass; else fail "$net on shared memory, $what" "device memory peaks at $device, and blobs on the CPU at $blobs"; fi
      violations "$net on shared memory, $what" "$work/$net.all.$what.log"
    done
  done
}
