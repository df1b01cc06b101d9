# shellcheck shell=bash source-path=SCRIPTDIR
# Checks of what scripts/package has built, which sources this. The nightly ones need root rights, for chroot, and Debian's and Ubuntu's
# archives.
# shellcheck disable=SC2154 # scripts/package sets the variables
# shellcheck source=checks.sh
. "$root/tests/install/checks.sh"
need make pkg-config g++ binutils python3-venv
package=$(name x86_64)
tree=$out/$package

older_than_floor() { # older_than_floor FILE…
  local newest
  newest=$(readelf -V "$@" | grep -oE 'GLIBC_[0-9.]+' | sort -uV | tail -1)
  [ -n "$newest" ] || complain "no GLIBC version was found in $*"
  same "the newer of GLIBC_$floor and what is needed" "GLIBC_$floor" "$(printf '%s\n' "GLIBC_$floor" "$newest" | sort -V | tail -1)"
}
has_soname() {
  same "soname" "$(sed -n 's/.*-soname,\([^"]*\)".*/\1/p' "$root/build.rs")" "$(readelf -d "$library" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')"
}
# Up to glibc 2.33 threads and dlopen are in their own libraries.
needs_only_c_library_and_unwinder() {
  same "NEEDED but for libdl and libpthread" "$(printf '%s\n' ld-linux-x86-64.so.2 libc.so.6 libgcc_s.so.1)" \
    "$(readelf -d "$library" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | sort | grep -vxE 'lib(dl|pthread)\.so\.[0-9]+')"
}
brings_no_unwinder() {
  nm "$library" | grep ' U _Unwind_RaiseException'
  if nm "$library" | grep -E ' [^U] _Unwind_'; then complain "these are of an unwinder inside the library"; fi
}
exported() { nm -D --defined-only "$1" | awk '{print $NF}' | sed 's/@.*//' | sort; }
exports_what_the_native_one_does() {
  local native=$target/debug/libsyncedmem.so
  (cd "$root" && cargo build --package syncedmem --lib)
  [ "$(exported "$native" | wc -l)" -gt 10 ] || complain "$native exports next to nothing"
  same "exported symbols" "$(exported "$native")" "$(exported "$library")"
}
names_no_folder() { # names_no_folder FOLDER
  if grep -raoF -e "$root" -e "$HOME/" -e "$cache" "$1" | sort | uniq -c; then complain "it names these folders of this machine"; fi
}
has_no_dead_link() { # has_no_dead_link FOLDER
  python3 - "$1" <<'PYTHON'
import pathlib, re, sys
pages = list(pathlib.Path(sys.argv[1]).rglob("*.md"))
links = [(page, link.split("#")[0]) for page in pages for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text())]
dead = [f"{page}: {link}" for page, link in links if link and "://" not in link and not (page.parent / link).is_file()]
sys.exit("\n".join(dead) or len(links) < 20)
PYTHON
}
unpacks() {
  tar -xzf "$tree.tar.gz" -C "$work"
  same "headers" "$(cd "$root/include" && find . -name '*.h*' | sort)" "$(cd "$work/$package/include" && find . -type f | sort)"
  same "libsyncedmem.so's end" "libsyncedmem.so.$version" "$(basename "$(realpath "$work/$package/lib/libsyncedmem.so")")"
  head -n 10 "$work/$package/README.md" | grep -F ./install.sh
  head -n 10 "$work/$package/README.md" | grep -F 'syncedmem run -- caffe'
  has_no_dead_link "$work/$package"
}
# Unpacked files are installed, found by the shell, and removed without a trace.
installs() {
  local home=$work/home
  mkdir "$home"
  HOME=$home "$work/$package/install.sh" "$home/its own" >"$work/said"
  grep -F "export PATH=\"$home/its own/bin:" "$work/said"
  [ -f "$home/its own/share/man/man1/syncedmem-run.1" ] && [ -f "$home/its own/share/bash-completion/completions/syncedmem" ]
  "$home/its own/bin/syncedmem" doctor | grep -F "$home/its own/lib/libsyncedmem.so.$version"
  "$work/$package/install.sh" --remove "$home/its own"
  same "what is left" "" "$(find "$home" ! -type d)"
}
serves_cpp_programs() {
  export PKG_CONFIG_PATH=$work/$package/lib/pkgconfig
  mkdir "$work/make"
  make -C "$work/make" -f "$root/tests/install/pkg_config/Makefile"
  local program
  for program in c-shared c-static cpp-shared cpp-static; do
    "$work/make/$program"
  done
}
# The running program is the loader, so the command cannot find the library by its own path.
command_runs_on_an_old_c_library() {
  "$real_caffe_old_loader" --library-path "$real_caffe_old_library_path" "$tree/bin/syncedmem" doctor --library "$tree/lib" \
    "${real_caffe_libcaffe:?}" | tee "$work/doctor"
  grep -F 'system       glibc 2.31' "$work/doctor"
  grep -F 'verdict      works' "$work/doctor"
}
# A whole old system: bullseye's Caffe, preloaded, on bullseye's C library.
old_caffe_runs() {
  SYNCEDMEM_REPORT=$work/calls "$real_caffe_old_loader" --library-path "$real_caffe_old_library_path" --preload "$library" \
    "${real_caffe_gtest:?}" --gtest_filter='SyncedMemoryTest*:BlobSimpleTest*-*GPU*'
  cat "$work/calls"
  grep -E ' construct=[1-9]' "$work/calls"
}
wheel_is_for_old_systems() {
  "$tools/bin/python" -m auditwheel show "$wheel" | tee "$work/audit"
  tr '\n' ' ' <"$work/audit" | grep -F "manylinux_2_17_x86_64"
  "$tools/bin/python" -m zipfile -e "$wheel" "$work/wheel"
  cmp "$library" "$work/wheel/syncedmem/libsyncedmem.so.0"
  names_no_folder "$work/wheel"
}
# In a virtual environment the program is found, and the library in it serves Python under the command.
wheel_brings_its_command() {
  python3 -m venv --system-site-packages "$work/venv"
  "$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check "$wheel"
  PATH=$work/venv/bin:$PATH syncedmem run -- python3 -c 'import syncedmem
memory = syncedmem.SyncedMemory(3 << 20)
memory.cpu_data()
print(syncedmem.library_path())' >"$work/said" 2>"$work/report"
  cat "$work/said" "$work/report"
  grep -F "$work/venv/" "$work/said"
  grep -F 'peak 3.0 MiB' "$work/report"
}
source_distribution_is_whole() {
  tar -xzf "$out/syncedmem-$version.tar.gz" -C "$work"
  (cd "$work/syncedmem-$version/checkout" && cargo metadata --locked --no-deps --format-version 1 >/dev/null)
  grep -xF "Version: $version" "$work/syncedmem-$version/PKG-INFO"
}
debian_packages_are_in_order() {
  local deb
  for deb in "$out"/*_amd64.deb; do
    same "$deb's compression" xz "$(ar t "$deb" | sed -n 's/^data\.tar\.//p')"
  done
  for deb in "$out"/*_amd64.deb; do dpkg-deb -x "$deb" "$work/debian"; done
  names_no_folder "$work/debian"
  has_no_dead_link "$work/debian/usr/share/doc/syncedmem"
  "$work/debian/usr/bin/syncedmem" doctor | grep -F "$work/debian/usr/lib/x86_64-linux-gnu/libsyncedmem.so.$version"
  PKG_CONFIG_PATH=$work/debian/usr/lib/x86_64-linux-gnu/pkgconfig pkg-config --exists syncedmem
}
# Those whose manifests say so. No archive has them yet, so each takes the others from here.
crates_can_be_published() {
  local options=() crates
  mapfile -t crates < <(cd "$root" && grep -l '^publish.workspace = true' crates/*/Cargo.toml | xargs sed -n 's/^name = "\(.*\)"/\1/p')
  [ -n "$nightly" ] || options=(--no-verify)
  (cd "$root" && cargo package --locked --allow-dirty --target-dir "$work/crates" "${options[@]}" "${crates[@]/#/--package=}")
  same "archives" "${#crates[@]}" "$(find "$work/crates/package" -maxdepth 1 -name '*.crate' | wc -l)"
  [ "${#crates[@]}" -ge 7 ]
}
lists_are_right() {
  (cd "$out" && sha256sum --quiet --check SHA256SUMS)
  same "files in SHA256SUMS" "$(find "$out" -maxdepth 1 -type f | wc -l)" "$(($(wc -l <"$out/SHA256SUMS") + 1))"
  python3 - "$out/libsyncedmem-$version.cdx.json" <<'PYTHON'
import json, sys
parts = {part["name"]: part for part in json.load(open(sys.argv[1]))["components"]}
assert {"libc", "clap", "caffemodel"} <= set(parts) and "cbindgen" not in parts, sorted(parts)
assert parts["libc"]["hashes"] and parts["libc"]["licenses"], parts["libc"]
PYTHON
}

variables=$("$root/scripts/real-caffe" --print)
eval "$variables"
step "checking $tree.tar.gz and what goes with it"
check "library, command and the library that names layers need nothing newer than glibc $floor" \
  older_than_floor "$library" "$tree/bin/syncedmem" "$tree/lib/libsyncedmem_net.so"
check "has the soname" has_soname
check "needs the C library and the process's unwinder, and nothing else" needs_only_c_library_and_unwinder
check "brings no unwinder of its own" brings_no_unwinder
check "exports exactly what the native build exports" exports_what_the_native_one_does
check "names no folder of the machine that built it" names_no_folder "$tree"
check "the archive unpacks to what is meant, says how to use it in its first lines, and has no dead link" unpacks
check "its script installs it anywhere, and removes it" installs
check "unpacked anywhere, it serves C and C++ programs, exceptions included" serves_cpp_programs
if [ -n "${real_caffe_old_loader:-}" ]; then
  check "its command runs on bullseye's C library, 2.31" command_runs_on_an_old_c_library
  check "serves bullseye's Caffe, preloaded, on that C library" old_caffe_runs
else
  check "runs on bullseye's C library" complain "scripts/real-caffe has no old C library here"
fi
check "auditwheel takes the wheel for manylinux2014, and it has this very library" wheel_is_for_old_systems
check "from a virtual environment, syncedmem run serves Python with the wheel's library" wheel_brings_its_command
check "the source distribution has all that Cargo reads" source_distribution_is_whole
check "the Debian packages are in order, and work where they are unpacked" debian_packages_are_in_order
check "the crates of use by themselves can be published" crates_can_be_published
check "the checksums and the list of parts are right" lists_are_right
# shellcheck source=package_nightly.sh
[ -z "$nightly" ] || . "$root/tests/install/package_nightly.sh"
summary package
