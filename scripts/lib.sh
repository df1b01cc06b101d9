# shellcheck shell=bash disable=SC2034 # what is set here is used where it is sourced
# Shared by every script here: where things are, how they speak, how they get what they miss.
# Sourced, never run.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# Downloads and foreign programs live outside the source tree; builds live in Cargo's own folder.
cache=${SYNCEDMEM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/libsyncedmem}
target=${CARGO_TARGET_DIR:-$root/target}

step() { printf '\n==> %s\n' "$*" >&2; }
note() { printf '    %s\n' "$*" >&2; }
die() {
  printf '%s: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}

# lacking PACKAGE…: those that are not installed.
lacking() {
  local package
  for package in "$@"; do
    dpkg-query -W -f='${db:Status-Abbrev}' "$package" 2>/dev/null | grep -q '^ii' || echo "$package"
  done
}

# need PACKAGE…: installs the Debian packages that are missing; where it may not, says the command.
need() {
  local missing as=()
  mapfile -t missing < <(lacking "$@")
  [ ${#missing[@]} -eq 0 ] && return 0
  command -v apt-get >/dev/null || die "these Debian packages (or your system's own) are missing: ${missing[*]}"
  if [ "$(id -u)" -ne 0 ]; then
    sudo -n true 2>/dev/null || die "please run: sudo apt-get install ${missing[*]}"
    as=(sudo)
  fi
  mkdir -p "$cache"
  (
    # Apt serves one at a time: whoever comes second waits, and may find it done.
    flock 8
    mapfile -t missing < <(lacking "$@")
    [ ${#missing[@]} -gt 0 ] || exit 0
    step "installing ${missing[*]}"
    "${as[@]}" apt-get update -qq >&2 || note "apt-get update failed; trying with the lists there are"
    "${as[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "${missing[@]}" >&2 ||
      die "please run: sudo apt-get install ${missing[*]}"
  ) 8>"$cache/apt.lock" || exit 1
}

# need_rust: a Rust toolchain is the one thing asked of the machine. An older cargo does not know the edition, and its error
# does not say which version does; of an older rustc cargo says so itself.
need_rust() {
  local wanted found
  wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' "$root/Cargo.toml")
  local get="get it with rustup (rustup.rs), or on Debian with apt-get install cargo (Debian 13 or later) or cargo-web (Debian 12)"
  command -v cargo >/dev/null || die "cargo is not on PATH, and Rust $wanted or later is needed; $get"
  found=$(cargo --version | sed -n 's/^cargo \([0-9.]*\).*/\1/p')
  [ "$(printf '%s\n' "$wanted" "$found" | sort -V | head -n 1)" = "$wanted" ] ||
    die "Rust $wanted or later is needed, and $(command -v cargo) is ${found:-of no known version}; $get"
}

# build_library: the release library, without the command; prints its path. To the letter as cmake/cargo.cmake builds it, so
# that it is built once for all of the tests.
build_library() {
  need_rust
  need gcc libc6-dev
  (cd "$root" && cargo rustc --package syncedmem --lib --profile release --target-dir "$target" -- \
    --print "native-static-libs=$target/release/native-static-libs" >&2) || die "the library does not build"
  printf '%s\n' "$target/release/libsyncedmem.so"
}

# build_command: the syncedmem command, as the tests have built it (a release takes minutes); prints its path.
build_command() {
  need_rust
  need gcc libc6-dev
  (cd "$root" && cargo build --bin syncedmem >&2) || die "the command does not build"
  printf '%s\n' "$target/debug/syncedmem"
}
