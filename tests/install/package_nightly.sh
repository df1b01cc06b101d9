# shellcheck shell=bash source-path=SCRIPTDIR
# Checks of scripts/package --test --nightly: in fresh systems with their own Caffe, on ARM's instructions, and of a second build.
# shellcheck disable=SC2154,SC2016 # scripts/package sets the variables; the shells in the systems expand theirs
# Quoted, so that `scripts/test` without its nightly parts does not install them.
"need" debootstrap lintian qemu-user-static libc6-arm64-cross

is_ubuntu() { [[ $1 == bionic || $1 == focal ]]; }
# system SUITE: makes the system once, without Caffe, and unpacks it to $work/SUITE. Debian's comes from this machine's own archive, and
# Ubuntu's from the one that debootstrap knows, which checks signatures where Ubuntu's keys are (Debian 12 has no package of them).
system() {
  local kept=$cache/systems/$1.tar mirror=()
  if [ ! -f "$kept" ]; then
    mkdir -p "${kept%/*}"
    if is_ubuntu "$1"; then
      # The archive is named: without Ubuntu's keys debootstrap would turn to Debian's.
      mapfile -t mirror < <(awk '/default_mirror/ && /\/archive/ { print $2; exit }' "/usr/share/debootstrap/scripts/$1")
    else
      mapfile -t mirror < <(machine_mirrors | head -n 1)
    fi
    rm -rf "$work/new"
    debootstrap --variant=minbase --components=main,universe "$1" "$work/new" "${mirror[@]}" || return
    tar -C "$work/new" -cf "$kept.new" . && mv "$kept.new" "$kept"
    rm -rf "$work/new"
  fi
  mkdir "$work/$1" && tar -C "$work/$1" -xf "$kept"
  cp /etc/resolv.conf "$work/$1/etc/resolv.conf"
  mkdir "$work/$1/packages" && find "$out" -maxdepth 1 -type f -exec cp -t "$work/$1/packages" {} +
}
# within SUITE COMMANDS: as root of that system. Its mounts end with it.
within() {
  unshare --mount --fork bash -c 'mount -t proc proc "$1/proc" && mount --bind /dev "$1/dev" && exec chroot "$1" "${@:2}"' - "$work/$1" \
    /usr/bin/env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C DEBIAN_FRONTEND=noninteractive sh -euxc "$2"
}
# gets_caffe SUITE: that of the distribution. Debian 12 has none, and there that of Debian 11 ends with a fault by itself.
gets_caffe() {
  local caffe=caffe
  if is_ubuntu "$1"; then caffe="caffe-cpu python3-caffe-cpu"; fi
  system "$1"
  within "$1" "apt-get -qq update && apt-get -qq -y --no-install-recommends install $caffe >/var/log/caffe 2>&1"
}
# gets_program SUITE: one in C, instead of Caffe.
gets_program() {
  system "$1"
  "$tools/bin/python" -m ziglang cc -target "x86_64-linux-gnu.$floor" -o "$work/$1/opens" "$root/tests/install/opens.c" -ldl
}
seconds() { # seconds SUITE COMMANDS: fails after more than a minute
  local start=$SECONDS
  within "$@"
  echo "in $((SECONDS - start)) s"
  [ $((SECONDS - start)) -le 60 ]
}
# shows SUITE PREFIX: what shows memory there, where the documents and libraries are below the prefix. Ubuntu's Caffe is bound within itself,
# and is taken over.
shows() {
  local caffe="syncedmem run -- caffe time --model=$2/share/doc/syncedmem/examples/net.prototxt --iterations=1 >/dev/null 2>/tmp/report"
  case $1 in
  bullseye | bionic | focal) echo "$caffe; grep 'conv1 output' /tmp/report" ;;
  bookworm) echo "syncedmem run -- /opens \$(find $2/lib -name libsyncedmem.so.0) 2>&1 | grep 'peak 3.0 MiB'" ;;
  esac
}
packages_serve() { seconds "$1" "dpkg -i /packages/*_amd64.deb; $(shows "$1" /usr)"; }
archive_serves() {
  within "$1" 'dpkg --purge syncedmem libsyncedmem-dev libsyncedmem0'
  seconds "$1" "tar -xzf /packages/$package.tar.gz; ./$package/install.sh; $(shows "$1" /usr/local)"
  within "$1" "./$package/install.sh --remove"
}
# takes_over SUITE: on Ubuntu, the training and what Python computes are the same as without the library, and memory that has run out is an
# error that Python handles.
takes_over() {
  mkdir "$work/$1/training"
  cp "$root"/tests/real_caffe/pycaffe_*.py "$work/$1/training"
  (cd "$root/tests/real_caffe" && python3 -B -c 'import pathlib, sys, training; training.prepare(pathlib.Path(sys.argv[1]))' "$work/$1/training")
  within "$1" 'dpkg -i /packages/*_amd64.deb; cd /training; export OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 MPLBACKEND=Agg
    syncedmem doctor caffe >/tmp/doctor; grep "^verdict *works: .*can be taken over" /tmp/doctor
    caffe train --solver=solver.prototxt 2>/tmp/log; mkdir /original; mv model_iter_* /original
    syncedmem run -- caffe train --solver=solver.prototxt 2>/tmp/log; grep "taken over by entry patch: 12 of 12 functions" /tmp/log
    for file in model_iter_*; do cmp $file /original/$file; done; grep "solver history" /tmp/log; grep "norm1 internal" /tmp/log
    for share in gradients all; do
      syncedmem run --share=$share -- caffe train --solver=solver.prototxt 2>/tmp/log; grep "shared memory needed" /tmp/log
      for file in model_iter_*; do cmp $file /original/$file; done
    done
    python3 pycaffe_compute.py >/original/arrays; syncedmem run -- python3 pycaffe_compute.py >/tmp/arrays 2>/tmp/log
    cmp /original/arrays /tmp/arrays; grep "taken over by entry patch: 12 of 12 functions" /tmp/log
    syncedmem run --host-limit 256M --on-error throw -- python3 pycaffe_out_of_memory.py library-limit >/tmp/full
    grep "MemoryError from the middle of a layer" /tmp/full; grep "a new net works" /tmp/full
    # 20.04 has the tests of Caffe: those of memory, blobs and layers that read no file are run.
    if command -v caffe-gtest; then
      syncedmem run -- caffe-gtest --gtest_filter="-*GPU*:*DB*:*ImageData*:*WindowData*:*IO*:*DataTransform*:*HDF5*:*Gradient*:*Solver*" >/tmp/tests 2>/tmp/log
      tail -n 1 /tmp/tests; grep "taken over by entry patch: 12 of 12 functions" /tmp/log
    fi'
}
# What the wheel needs is fetched here: a fresh system may lack the certificates.
wheel_serves() {
  "$tools/bin/python" -m pip download --quiet --disable-pip-version-check --python-version 3.11 --only-binary :all: \
    --dest "$work/bookworm/packages" "$wheel"
  within bookworm 'apt-get -qq update && apt-get -qq -y --no-install-recommends install python3-venv >/var/log/venv 2>&1; python3 -m venv /venv'
  seconds bookworm 'PATH=/venv/bin:$PATH; pip install --quiet --no-index --find-links /packages /packages/syncedmem-*x86_64.whl
    syncedmem run -- python3 -c "import syncedmem; syncedmem.SyncedMemory(3 << 20).cpu_data()" 2>&1 | grep "peak 3.0 MiB"'
}
# The steps of the Dockerfile, on a system with Caffe.
dockerfile_serves() {
  local step rest preload
  while read -r step rest; do
    case $step in
    ADD) within bullseye "tar -xzf /packages/${rest% *} -C ${rest##* }" ;;
    RUN) within bullseye "$rest" ;;
    ENV) preload=${rest#LD_PRELOAD=} ;;
    esac
  done <"$root/examples/Dockerfile"
  within bullseye "LD_PRELOAD=$preload SYNCEDMEM_REPORT=/tmp/calls caffe time --model=/usr/local/share/doc/syncedmem/examples/net.prototxt --iterations=1
    grep ' construct=[1-9]' /tmp/calls"
}
lintian_is_content() {
  # Its authors have no address, libsyncedmem_net.so is preloaded by its path, and stack traces need symbols.
  lintian --fail-on error \
    --suppress-tags bogus-mail-host,bogus-mail-host-in-debian-changelog,sharedobject-in-library-directory-missing-soname,unstripped-binary-or-object "$out"/*_amd64.deb
}
runs_on_arm() {
  local arm
  arm=$out/$(name aarch64)
  older_than_floor "$arm/bin/syncedmem" "$arm/lib/libsyncedmem.so.$version" "$arm/lib/libsyncedmem_net.so"
  qemu-aarch64-static -L /usr/aarch64-linux-gnu "$arm/bin/syncedmem" doctor --library "$arm/lib" | tee "$work/doctor"
  grep -F "$arm/lib/libsyncedmem.so.$version" "$work/doctor"
  "$tools/bin/python" -m ziglang cc -target "aarch64-linux-gnu.$floor" -o "$work/opens-arm" "$root/tests/install/opens.c" -ldl
  qemu-aarch64-static -L /usr/aarch64-linux-gnu "$work/opens-arm" "$arm/lib/libsyncedmem.so.$version" | grep '^works on glibc'
  same "the packages" 3 "$(find "$out" -name '*_arm64.deb' | wc -l)"
}
wheel_runs_on_arm() {
  local arm=$work/python-arm program
  "$tools/bin/python" -m pip install --quiet --disable-pip-version-check --no-compile --target "$arm" --python-version 3.9 \
    --platform manylinux2014_aarch64 --only-binary :all: "$(wheel_for aarch64)"
  # An emulated program cannot start another.
  program=$arm/syncedmem/syncedmem
  mv "$program" "$program.emulated"
  printf '#!/bin/sh\nexec qemu-aarch64-static -L /usr/aarch64-linux-gnu %q "$@"\n' "$program.emulated" >"$program"
  chmod +x "$program"
  "$root/scripts/real-caffe" --aarch64 --run python3.9 "$root/tests/install/python_on_arm.py" "$arm" "$root/examples/small.caffemodel"
}
is_the_same_again() {
  git clone --quiet "$root" "$work/elsewhere"
  [ -z "$(git -C "$root" status --porcelain)" ] || complain "commit first: the second build is of the last commit"
  CARGO_TARGET_DIR=$work/elsewhere/target "$work/elsewhere/scripts/package"
  (cd "$work/elsewhere/target/package" && grep -v arm64 "$out/SHA256SUMS" | grep -v aarch64 | sha256sum --check)
}

if [ "$(id -u)" -ne 0 ] || ! unshare --mount true; then
  check "fresh systems take the packages" complain "root rights and unshare are needed"
else
  for suite in bullseye bookworm bionic focal; do
    if [ $suite = bookworm ]; then check "$suite gets a program" gets_program $suite; else check "$suite gets its Caffe" gets_caffe $suite; fi
    check "$suite: one command installs the packages, one shows a program's memory, within a minute" packages_serve $suite
    check "$suite: the archive does the same" archive_serves $suite
    if is_ubuntu $suite; then check "$suite: its Caffe is taken over, and computes the same" takes_over $suite; fi
  done
  check "the Dockerfile's steps put the library under bullseye's Caffe" dockerfile_serves
  check "bookworm: the wheel serves a virtual environment" wheel_serves
fi
check "lintian has no error to report" lintian_is_content
check "ARM's packages run under qemu" runs_on_arm
check "the wheel for ARM serves Debian's Python for it" wheel_runs_on_arm
check "a second build elsewhere gives the same bytes" is_the_same_again
