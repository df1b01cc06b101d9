# shellcheck shell=bash disable=SC2034 # what is set here is used where it is sourced
# Reads a Debian archive of another release with an apt state of its own. Sourced after lib.sh.

# debian_state FOLDER SUITE MIRROR "ARCHITECTURE…": makes that state, for `own` to use.
# The keyring is Debian's (package debian-archive-keyring).
debian_state() {
  local keyring=/usr/share/keyrings/debian-archive-keyring.gpg kind
  state=$1
  mkdir -p "$state"/{state/lists/partial,cache/archives/partial,debs}
  : >"$state/status"
  for kind in deb deb-src; do
    echo "$kind [arch=${4// /,} signed-by=$keyring] $3 $2 main"
  done >"$state/sources.list"
  {
    # Keep the machine's proxy and time-outs, and leave out what it fetches.
    apt-config dump | grep '^Acquire::' | grep -vE '^Acquire::(IndexTargets|Languages)' || true
    cat <<END
Acquire::Languages "none";
Acquire::Retries "2";
Dir::Etc::main "/dev/null";
Dir::Etc::parts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::Etc::sourcelist "$state/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::State "$state/state";
Dir::State::status "$state/status";
Dir::Cache "$state/cache";
APT::Architecture "${4%% *}";
APT::Architectures { "${4// /\"; \"}"; };
APT::Install-Recommends "false";
APT::Sandbox::User "root";
END
  } >"$state/apt.conf"
}

# own COMMAND…: an apt command on that state.
own() { APT_CONFIG=$state/apt.conf "$@"; }

# The archives of apt whose suite is this Debian's; apt parses both formats of its sources.
machine_mirrors() {
  local codename
  codename=$(sed -nE 's/^VERSION_CODENAME="?([a-z]+)"?$/\1/p' /etc/os-release)
  apt-get update --print-uris 2>/dev/null |
    sed -nE "s#^'(.*)/dists/(${codename:-stable}|oldstable|stable|testing|unstable|sid)/InRelease'.*#\1#p" |
    awk '!seen[$0]++'
}

# find_archive FOLDER SUITE "ARCHITECTURE…" MIRROR PACKAGE…: makes the state on the first archive that has the packages;
# without MIRROR on one of the machine's. Names those tried in $tried.
find_archive() {
  local folder=$1 suite=$2 architectures=$3 mirrors url
  mapfile -t mirrors < <(if [ -n "$4" ]; then echo "${4%/}"; else machine_mirrors; fi)
  shift 4
  tried=${mirrors[*]:-none, apt has no Debian source}
  for url in "${mirrors[@]}"; do
    note "$suite's package lists from $url"
    debian_state "$folder" "$suite" "$url" "$architectures"
    own apt-get update -qq >"$folder/update.log" 2>&1 || true
    own apt-cache show "$@" >/dev/null 2>&1 && return
    sed 's/^/    /' "$folder/update.log" >&2
  done
  return 1
}
