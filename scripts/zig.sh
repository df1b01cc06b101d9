# shellcheck shell=bash disable=SC2034,SC2154 # what is set here is used where it is sourced
# Gets zig and cargo-zigbuild, which build for an old C library, into the cache. Sourced after lib.sh.

floor=2.17
zigbuild_version=0.24.0
zig_version=0.15.2
triple=x86_64-unknown-linux-gnu
tools=$cache/zig-$zig_version-$zigbuild_version
export ZIG_GLOBAL_CACHE_DIR=$tools/zig-cache CARGO_ZIGBUILD_CACHE_DIR=$tools/zigbuild-cache

obtain_tools() {
  [ -x "$tools/bin/cargo-zigbuild" ] && return
  need python3-venv
  step "getting zig $zig_version and cargo-zigbuild $zigbuild_version (once; about 90 MB, kept in $tools)"
  rm -rf "$tools.new"
  mkdir -p "$cache"
  python3 -m venv "$tools.new" || die "python3 cannot make a virtual environment in $cache"
  "$tools.new/bin/python" -m pip install --quiet --disable-pip-version-check \
    "ziglang==$zig_version" "cargo-zigbuild==$zigbuild_version" >&2 ||
    die "pip could not get ziglang and cargo-zigbuild; is the Python package index, or a mirror of it, within reach?"
  # An environment's scripts do not work after a move.
  mv "$tools.new" "$tools"
}
