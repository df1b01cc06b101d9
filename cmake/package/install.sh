#!/bin/sh
# Installs libsyncedmem from the unpacked archive: the library, the syncedmem command, headers, manual pages, completions and documents.
# usage: ./install.sh [PREFIX]            default: /usr/local for root, else ~/.local
#        ./install.sh --remove [PREFIX]   removes the installed files
set -eu
from=$(cd "$(dirname "$0")" && pwd)
remove=
case ${1-} in
-h | --help) exec sed -n '2,4s/^# //p' "$0" ;;
--remove) remove=yes && shift ;;
-*) echo "install.sh: unknown option $1; see --help" >&2 && exit 2 ;;
esac
if [ "$(id -u)" -eq 0 ]; then prefix=/usr/local; else prefix=$HOME/.local; fi
prefix=${1:-$prefix}

cd "$from"
if [ -n "$remove" ]; then
  find bin include lib share ! -type d | while read -r file; do rm -f "$prefix/$file"; done
  # Remove only empty folders.
  find include lib share -mindepth 1 -depth -type d | while read -r folder; do rmdir "$prefix/$folder" 2>/dev/null || true; done
else
  mkdir -p "$prefix"
  # Tar replaces a file and does not write into it: a running program keeps the library that it has.
  tar -cf - bin include lib share | (cd "$prefix" && tar -xof -)
fi
# Update the loader's cache.
if [ "$(id -u)" -eq 0 ] && command -v ldconfig >/dev/null; then ldconfig; fi
[ -z "$remove" ] || exit 0
echo "libsyncedmem is installed in $prefix"
case :$PATH: in
*":$prefix/bin:"*) ;;
*) echo "the command is not on your PATH yet: export PATH=\"$prefix/bin:\$PATH\"" ;;
esac
