# shellcheck shell=bash disable=SC2154 # sourced by scripts/gpu-check after lib.sh
# Builds the programs of tests/gpu/run into a folder: as quickly as possible for this machine, or for any machine.

# Targets of cpp_tests.
cpp_suites=(device.bvlc_master.O2.shared device.nvidia_0_15.O2.shared device_use.O2.shared blob.O2.shared abis.O2.shared)

# start_folder DIR: makes the folder with the files that need no building. Replaces only a folder of an earlier run.
start_folder() {
  if [ -e "$1" ] && [ ! -f "$1/about" ] && ! rmdir "$1" 2>/dev/null; then
    die "$1 is not empty, and not of --prepare"
  fi
  rm -rf "${1:?}"
  mkdir -p "$1"/{rooms,rust,cpp,lib,simulated,not_built}
  touch "$1/about"
  install "$root/tests/gpu/run" "$1/gpu-check"
}

# finish_folder DIR GLIBC: adds a Caffe if one was built, and writes `about`.
finish_folder() {
  if ! asked_for caffe || [ ! -f "$1/lib/libsyncedmem.so" ]; then
    :
  elif compgen -G "$cache/gpu-caffe/*/cuda-build/caffe-gtest" >/dev/null; then
    step "a Caffe for GPUs"
    "$root/scripts/real-caffe" --gpu --library "$1/lib/libsyncedmem.so" --archive "$1" >&2
  else
    note "no Caffe for GPUs: scripts/real-caffe --gpu --archive DIR builds one, which is taken from then on"
  fi
  {
    printf 'library: libsyncedmem %s, commit %s\n' "$(sed -n 's/^version = "\(.*\)"/\1/p' "$root/Cargo.toml" | head -1)" \
      "$(cd "$root" && git describe --always --dirty 2>/dev/null || echo 'not known')"
    printf 'architecture: %s\nglibc: %s\n' "$(uname -m)" "$2"
  } >"$1/about"
}

# put_library FILE DIR: copies the library to its soname: some ways to carry a folder drop links.
put_library() {
  local soname
  soname=$(readelf -d "$1" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')
  cp "$1" "$2/lib/libsyncedmem.so"
  cp "$1" "$2/lib/$soname"
}

# cargo_suites DIR CARGO OPTION…: the rooms' test programs, and a script for each device suite that is asked for.
cargo_suites() {
  local folder=$1 cargo=$2 line name file suite suites=("$root"/tests/gpu/device_*.rs) rooms=()
  shift 2
  ! asked_for suites || suites=("$root"/tests/*/device_*.rs)
  for suite in "${suites[@]}"; do
    name=${suite%/*} name=${name##*/}
    rooms+=("--test=$name")
    # shellcheck disable=SC2016
    printf '#!/bin/sh\nSYNCEDMEM_TEST_SUITES=%s exec "${0%%/*}/../rooms/%s" "$@"\n' "$(basename "$suite" .rs)" "$name" \
      >"$folder/rust/$(basename "$suite" .rs)"
  done
  chmod +x "$folder"/rust/*
  # Without link-time optimisation, because that takes minutes for each program.
  (cd "$root" && CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 "$cargo" test --package syncedmem "${rooms[@]}" --no-run --message-format=json "$@") |
    grep '"kind":\["test"\]' | grep '"reason":"compiler-artifact"' |
    while IFS= read -r line; do
      name=$(sed -n 's/.*"target":{[^}]*"name":"\([^"]*\)".*/\1/p' <<<"$line")
      file=$(sed -n 's/.*"executable":"\([^"]*\)".*/\1/p' <<<"$line")
      install "$file" "$folder/rooms/$name"
    done
}

# cmake_suites DIR BUILD OPTION…: the suites of cpp_tests.
cmake_suites() {
  local folder=$1 build=$2 suite
  shift 2
  cmake -S "$root/cpp_tests" -B "$build" -DSYNCEDMEM_TESTS_VALGRIND=OFF -DSYNCEDMEM_TESTS_ASAN=OFF \
    -DSYNCEDMEM_TESTS_LIBCXX=OFF -DSYNCEDMEM_TESTS_PROTOBUF=OFF "$@" >&2
  cmake --build "$build" --target "${cpp_suites[@]}" --parallel 2 >&2
  for suite in "${cpp_suites[@]}"; do install "$build/$suite" "$folder/cpp/$suite"; done
}

# attempt DIR NAME COMMAND…: a failure is noted for the report, and the other builds go on.
attempt() {
  local status
  set +e
  (set -e && "${@:3}")
  status=$?
  set -e
  [ "$status" -eq 0 ] || printf 'not ok: %s: it does not build, with status %s\n' "$2" "$status" >"$1/not_built/$2"
}

# build_here DIR [OPTION]: for this machine. The option chooses cargo's profile for the Rust suites.
build_here() {
  need_rust
  need gcc g++ libc6-dev binutils
  start_folder "$1"
  step "the library, the conformance suite and the simulated driver"
  put_library "$(build_library)" "$1"
  (cd "$root" && cargo build --package driver-conformance --package simulated-cuda >&2)
  install "$target/debug/driver-conformance" "$1"
  cp "$target/debug/libcuda.so" "$1/simulated/libcuda.so.1"
  step "the device suites"
  attempt "$1" rust-suites cargo_suites "$1" cargo "${2:---release}"
  if asked_for suites; then
    need cmake make libgtest-dev
    attempt "$1" cpp-suites cmake_suites "$1" "$target/gpu-check-cpp"
  fi
  finish_folder "$1" "$(getconf GNU_LIBC_VERSION | sed 's/^glibc //')"
}

# build_next_to_nothing DIR: for a machine without a GPU.
build_next_to_nothing() {
  start_folder "$1"
  install "$target/debug/driver-conformance" "$1"
  finish_folder "$1" "$(getconf GNU_LIBC_VERSION | sed 's/^glibc //')"
}

# --- for any machine ------------------------------------------------------------------------

# build_for_any DIR: for a machine without a C++ library and with an old C library. zig brings both.
build_for_any() {
  local library built=$target/gpu-check-zig file
  [ "$(uname -sm)" = "Linux x86_64" ] || die "the archive is built on x86-64 Linux, and this is $(uname -sm)"
  need_rust
  need gcc libc6-dev binutils cmake make libgtest-dev
  obtain_tools
  start_folder "$1"
  step "the library, as it is shipped"
  library=$("$root/scripts/package" --print) || die "the library does not build"
  put_library "$library" "$1"
  step "the conformance suite, the simulated driver and the Rust suites, for glibc $floor"
  mkdir -p "$built"
  (
    export CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 CARGO_PROFILE_RELEASE_DEBUG=none \
      CARGO_PROFILE_RELEASE_STRIP=symbols CARGO_TARGET_DIR=$built PATH=$tools/bin:$PATH
    cd "$root" || exit
    cargo-zigbuild zigbuild --release --target "$triple.$floor" --package driver-conformance --package simulated-cuda >&2
    cargo_suites "$1" cargo-zigbuild --release --target "$triple.$floor"
    install "$built/$triple/release/driver-conformance" "$1"
    cp "$built/$triple/release/libcuda.so" "$1/simulated/libcuda.so.1"
  )
  step "the C++ suites, for glibc $floor"
  for file in cc c++; do
    printf '#!/bin/sh\nexec "%s" -m ziglang %s -target x86_64-linux-gnu.%s "$@"\n' "$tools/bin/python" "$file" "$floor" \
      >"$built/$file"
    chmod +x "$built/$file"
  done
  (
    export CC=$built/cc CXX=$built/c++
    if [ ! -f "$built/gtest/lib/libgtest.a" ]; then
      cmake -S /usr/src/googletest -B "$built/googletest" -DBUILD_GMOCK=OFF -DCMAKE_BUILD_TYPE=Release \
        -DCMAKE_INSTALL_PREFIX="$built/gtest" -DCMAKE_INSTALL_LIBDIR=lib >&2
      cmake --build "$built/googletest" --target install --parallel 2 >&2
    fi
    # The library is there. The tests' own build has g++'s warnings.
    echo 'find_package(syncedmem REQUIRED CONFIG)' >"$built/library.cmake"
    cmake_suites "$1" "$built/cpp" -DCMAKE_CXX_FLAGS=-w -DGTest_ROOT="$built/gtest" \
      -Dsyncedmem_DIR="${library%/*}/cmake/syncedmem" \
      -DCMAKE_PROJECT_syncedmem_cpp_tests_INCLUDE="$built/library.cmake"
  )
  strip "$1"/driver-conformance "$1"/{lib,simulated,rooms,cpp}/*
  finish_folder "$1" "$floor"
}

# pack DIR FILE: makes the archive.
pack() {
  local largest=$((64 << 20)) bytes
  tar -C "$(dirname "$1")" --sort=name --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX \
    --mtime="@${SOURCE_DATE_EPOCH:-0}" -cf - "$(basename "$1")" | gzip -9n >"$2.new"
  bytes=$(stat -c %s "$2.new")
  [ "$bytes" -le "$largest" ] || die "the archive has $bytes bytes, and $largest are allowed: $2.new"
  mv "$2.new" "$2"
  note "$2: $bytes bytes"
}
