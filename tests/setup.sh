#!/usr/bin/env bash
# Installs the system parts that tests marked `system` need, those that are there already left alone. Debian and its kin only.
set -euo pipefail

# command=package
parts=(bwrap=bubblewrap redis-server=redis-server chromium=chromium setpriv=util-linux)

missing=()
for part in "${parts[@]}"; do
  command -v "${part%%=*}" >/dev/null || missing+=("${part#*=}")
done
if [ "${#missing[@]}" -eq 0 ]; then
  echo "system parts: all there"
  exit 0
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "install these as root, then come back: ${missing[*]}" >&2; exit 1; }
  as_root=(sudo)
fi
command -v apt-get >/dev/null || { echo "no apt-get here; install by other means: ${missing[*]}" >&2; exit 1; }

# Tests start servers of their own on loopback; the package must not start one as it is installed.
echo "system parts: installing ${missing[*]}"
log=$(mktemp)
if ! {
  "${as_root[@]}" apt-get update -qq &&
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 \
    apt-get install -y -qq --no-install-recommends "${missing[@]}"
} >"$log" 2>&1; then
  cat "$log" >&2
  exit 1
fi
rm -f "$log"

for part in "${parts[@]}"; do
  command -v "${part%%=*}" >/dev/null || { echo "still missing after the install: ${part%%=*}" >&2; exit 1; }
done
