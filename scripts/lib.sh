# shellcheck shell=bash disable=SC2034 # the scripts that source this use the variables
# Functions of all scripts: paths, messages, missing packages, builds of the library and the command. Sourced, never run.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# Downloads and foreign programs go to the cache, builds to Cargo's target folder.
cache=${SYNCEDMEM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/libsyncedmem}
target=${CARGO_TARGET_DIR:-$root/target}

step() { printf '\n==> %s\n' "$*" >&2; }
note() { printf '    %s\n' "$*" >&2; }
die() {
  printf '%s: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}

# has PACKAGE: whether it is installed, or its program comes from elsewhere.
has() {
  {
    case $1 in
    chromium) browser ;;
    default-jdk-headless) command -v javac ;;
    nodejs) command -v node ;;
    npm | python3) command -v "$1" ;;
    python3-venv) python3 -c 'import ensurepip, venv' ;;
    *) false ;;
    esac || dpkg-query -W -f='${db:Status-Abbrev}' "$1" | grep '^ii'
  } >/dev/null 2>&1
}
browser() { command -v chromium || command -v chromium-browser || command -v google-chrome; }

lacking() {
  local package
  for package in "$@"; do
    has "$package" || echo "$package"
  done
}

# need PACKAGE…: installs the missing Debian packages, or prints the command that does and exits. Pass literal names, not a variable:
# `scripts/test --needs` reads these lines.
need() {
  local missing as=()
  mapfile -t missing < <(lacking "$@")
  [ ${#missing[@]} -eq 0 ] && return 0
  command -v apt-get >/dev/null || die "these Debian packages (or your system's own) are missing: ${missing[*]}"
  if [ "$(id -u)" -ne 0 ]; then
    sudo -n true 2>/dev/null || die "packages are missing; please run: $(install_command "${missing[@]}")"
    as=(sudo)
  fi
  mkdir -p "$cache"
  (
    # Apt runs one process at a time; another script may have installed the packages.
    flock 8
    mapfile -t missing < <(lacking "$@")
    [ ${#missing[@]} -gt 0 ] || exit 0
    step "installing ${missing[*]} (apt's output: $cache/apt.log)"
    "${as[@]}" apt-get update -qq >"$cache/apt.log" 2>&1 || note "apt-get update failed; trying with the lists there are"
    if ! "${as[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "${missing[@]}" \
      >>"$cache/apt.log" 2>&1; then
      tail -n 5 "$cache/apt.log" >&2
      die "apt-get failed; please run: $(install_command "${missing[@]}")"
    fi
  ) 8>"$cache/apt.lock" || exit 1
}
install_command() { echo "sudo apt-get install --no-install-recommends $*"; }

# need_rust: checks cargo's version, because an old cargo's error does not name the needed version.
need_rust() {
  local wanted found
  wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' "$root/Cargo.toml")
  local get="get it with rustup (rustup.rs), or on Debian with apt-get install cargo (Debian 13 or later) or cargo-web (Debian 12)"
  command -v cargo >/dev/null || die "cargo is not on PATH, and Rust $wanted or later is needed; $get"
  found=$(cargo --version | sed -n 's/^cargo \([0-9.]*\).*/\1/p')
  [ "$(printf '%s\n' "$wanted" "$found" | sort -V | head -n 1)" = "$wanted" ] ||
    die "Rust $wanted or later is needed, and $(command -v cargo) is ${found:-of no known version}; $get"
}

# build_library: builds the release library, and prints its path. The command line is the one of cmake/cargo.cmake, so that CMake, pip and
# the scripts share a build. It names the crate types, because a Rust library disables link-time optimisation.
build_library() {
  need_rust
  need gcc libc6-dev
  (cd "$root" && cargo rustc --package syncedmem --lib --crate-type cdylib,staticlib --release --target-dir "$target" >&2) ||
    die "the library does not build"
  printf '%s\n' "$target/release/libsyncedmem.so"
}

# release_command: builds the release library and, like cmake/command.cmake, the syncedmem command; prints the command's path.
release_command() {
  build_library >/dev/null
  release_part net --lib
  release_part command --bin syncedmem
  printf '%s\n' "$target/release/syncedmem"
}
release_part() { # release_part PACKAGE OPTION…: builds it into the release library's folder
  (cd "$root" && CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 \
    cargo rustc --release --target-dir "$target" --package "syncedmem-$1" "${@:2}" >&2) || die "$1 does not build"
}

# build_command: builds the syncedmem command, the library and libsyncedmem_net.so for debugging, like cargo test; prints the command's
# path.
build_command() {
  need_rust
  need gcc libc6-dev
  (cd "$root" && cargo build --package syncedmem --package syncedmem-net --package syncedmem-command >&2) ||
    die "the command does not build"
  printf '%s\n' "$target/debug/syncedmem"
}

# environment INTERPRETER: makes its virtual environment for the tests of the Python package in the cache; prints its Python.
environment() {
  local folder wanted=$root/python/tests/requirements.txt
  folder=$cache/python/$("$1" -c 'import sys; print("%s-%d.%d.%d" % (sys.implementation.name, *sys.version_info[:3]))')-$(cksum <"$wanted" | cut -d ' ' -f 1)
  if [ ! -d "$folder" ]; then
    mkdir -p "$cache/python"
    # A concurrent run waits for the lock, and finds the environment.
    exec 9>"$cache/python/lock"
    flock 9
    if [ ! -d "$folder" ]; then
      step "getting what the tests of the Python package need (once; kept in $folder)"
      rm -rf "$folder.new"
      "$1" -m venv "$folder.new" >&2
      "$folder.new/bin/python" -m pip install --quiet --upgrade --disable-pip-version-check 'pip>=23' -r "$wanted" >&2 ||
        die "pip could not get what python/tests/requirements.txt names (see above)"
      mv "$folder.new" "$folder"
    fi
    exec 9>&-
  fi
  printf '%s\n' "$folder/bin/python"
}

# for_pycaffe PYTHON: installs packages for the Python of bullseye's Caffe, by the pip of PYTHON: NumPy (bullseye's is too old for the
# package), cffi, safetensors, and OpenCV and ONNX, which bring other protobufs; prints their folder.
for_pycaffe() {
  local folder=$cache/python/pycaffe-3
  if [ ! -d "$folder" ]; then
    rm -rf "$folder.new"
    "$1" -m pip install --quiet --disable-pip-version-check --target "$folder.new" --python-version 3.9 --only-binary :all: --no-deps \
      numpy==1.26.4 cffi==1.17.1 opencv-python-headless==4.10.0.84 onnx==1.12.0 safetensors==0.6.2 typing-extensions==4.12.2 >&2 ||
      die "pip could not get NumPy, cffi, safetensors, OpenCV and ONNX for pycaffe's Python (see above)"
    mv "$folder.new" "$folder"
  fi
  printf '%s\n' "$folder"
}

# --- another release of Debian: its archive, with a separate apt state ----------------------

# own COMMAND…: runs an apt command on the state in $work.
own() { APT_CONFIG=$work/apt.conf "$@"; }

# machine_mirrors: prints apt's archives of this Debian's suite; apt parses both formats of its sources.
machine_mirrors() {
  local codename
  codename=$(sed -nE 's/^VERSION_CODENAME="?([a-z]+)"?$/\1/p' /etc/os-release)
  apt-get update --print-uris 2>/dev/null |
    sed -nE "s#^'(.*)/dists/(${codename:-stable}|oldstable|stable|testing|unstable|sid)/InRelease'.*#\1#p" |
    awk '!seen[$0]++'
}

# find_archive SUITE ARCHITECTURE MIRROR PACKAGE…: makes that state for the first archive with the packages: MIRROR, or without it one of the
# machine's. $tried names the archives that it tried. The keyring is Debian's (package debian-archive-keyring).
find_archive() {
  local suite=$1 architecture=$2 mirrors url kind
  mapfile -t mirrors < <(if [ -n "$3" ]; then echo "${3%/}"; else machine_mirrors; fi)
  tried=${mirrors[*]:-none, apt has no Debian source}
  mkdir -p "$work"/{state/lists/partial,cache/archives/partial,debs}
  : >"$work/status"
  {
    # Keep the machine's proxy and time-outs, but not its index targets and languages.
    apt-config dump | grep '^Acquire::' | grep -vE '^Acquire::(IndexTargets|Languages)' || true
    cat <<END
Acquire::Languages "none";
Acquire::Retries "2";
Dir::Etc::main "/dev/null";
Dir::Etc::parts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::Etc::sourcelist "$work/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::State "$work/state";
Dir::State::status "$work/status";
Dir::Cache "$work/cache";
APT::Architecture "$architecture";
APT::Architectures { "$architecture"; };
APT::Install-Recommends "false";
APT::Sandbox::User "root";
END
  } >"$work/apt.conf"
  for url in "${mirrors[@]}"; do
    note "$suite's package lists from $url"
    for kind in deb deb-src; do
      echo "$kind [arch=$architecture signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $url $suite main"
    done >"$work/sources.list"
    own apt-get update -qq >"$work/update.log" 2>&1 || true
    own apt-cache show "${@:4}" >/dev/null 2>&1 && return
    sed 's/^/    /' "$work/update.log" >&2
  done
  return 1
}

# progress PATTERN TOTAL WHAT: a progress line for every 25 matching lines.
progress() {
  awk -v pattern="$1" -v total="$2" -v what="$3" '
    $0 ~ pattern { if (++n % 25 == 0 || n == total) { printf "    %d of %d %s\n", n, total, what; fflush() } }' >&2
}

# from_debian PREFIX WHAT SUITE ARCHITECTURE MIRROR UNUSED PACKAGE…: downloads the packages and their dependencies, except those that UNUSED
# matches, and makes the folder PREFIX of them once: `unpack FOLDER` finds them in $work/debs, and their names in $packages.
from_debian() {
  local prefix=$1 home=${1%/*}
  [ -d "$prefix" ] && return
  if ! command -v apt-get >/dev/null || ! command -v dpkg-deb >/dev/null; then
    die "this machine has no apt, so $2 cannot be got; see --help"
  fi
  need debian-archive-keyring
  mkdir -p "$home"
  # A concurrent run waits for the lock, and finds the folder.
  exec 9>"$home/lock"
  flock 9
  [ -d "$prefix" ] && return
  step "getting $2 (once; about 130 MB, kept in $home)"
  work=$home/download
  find_archive "$3" "$4" "$5" "${@:7}" ||
    die "no Debian archive with $2 could be reached (tried: $tried). Give one with --mirror URL; see --help."
  mapfile -t packages < <(own apt-get -s install "${@:7}" | awk '/^Inst /{print $2}' | grep -vE "$6")
  [ ${#packages[@]} -gt 50 ] || die "apt could not resolve what ${*:7} need; see: APT_CONFIG=$work/apt.conf apt-get -s install ${*:7}"
  note "${#packages[@]} packages"
  # apt-get keeps whole files, so that the next run resumes a broken one.
  (cd "$work/debs" && own apt-get download "${packages[@]}" 2>&1 | tee "$work/download.log" |
    progress '^Get:' "${#packages[@]}" downloaded) ||
    die "the download broke off; run it again to go on. $(grep -m1 '^E:' "$work/download.log" || true)"
  rm -rf "$prefix.new"
  mkdir "$prefix.new"
  unpack "$prefix.new"
  mv "$prefix.new" "$prefix"
  rm -rf "$work"
  exec 9>&-
}

# --- zig and cargo-zigbuild, which build for an old glibc -----------------------------------

floor=2.17
zigbuild_version=0.24.0
zig_version=0.15.2
triple=x86_64-unknown-linux-gnu
tools=$cache/zig-$zig_version-$zigbuild_version-1 # raise the last number when obtain_tools changes
export ZIG_GLOBAL_CACHE_DIR=$tools/zig-cache CARGO_ZIGBUILD_CACHE_DIR=$tools/zigbuild-cache

obtain_tools() {
  [ -x "$tools/bin/cargo-zigbuild" ] && return
  need python3-venv
  step "getting zig $zig_version, cargo-zigbuild $zigbuild_version and what makes wheels (once; about 90 MB, kept in $tools)"
  rm -rf "$tools.new"
  mkdir -p "$cache"
  python3 -m venv "$tools.new" || die "python3 cannot make a virtual environment in $cache"
  "$tools.new/bin/python" -m pip install --quiet --disable-pip-version-check \
    "ziglang==$zig_version" "cargo-zigbuild==$zigbuild_version" hatchling==1.27.0 cffi==1.17.1 auditwheel==6.4.2 >&2 ||
    die "pip could not get ziglang, cargo-zigbuild, hatchling, cffi and auditwheel; is the Python package index, or a mirror of it, within reach?"
  # An environment's scripts do not work after a move.
  mv "$tools.new" "$tools"
}
