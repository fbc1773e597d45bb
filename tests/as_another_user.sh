#!/usr/bin/env bash
# Runs Python as a user without privileges, in a home of its own: for tests that say nothing when root runs them.
#   tests/as_another_user.sh PYTHON ARGUMENT…
set -euo pipefail

if [ "$(id -u)" -ne 0 ]; then
  exec "$@"
fi

home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
chmod 777 "$home"
export HOME=$home TMPDIR=$home PYTHONDONTWRITEBYTECODE=1

# Another user in earnest, if he may read the interpreter and the checkout; where they lie below /root he may not. Then a user
# namespace: outside of it still the owner of root's files, but with no capability, so permissions bind (a limit on the number
# of processes does not).
another=(setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all --bounding-set=-all)
namespaced=(unshare --user --map-user=65534 --map-group=65534)
if "${another[@]}" "$1" -c 'import pytest' 2>/dev/null; then
  "${another[@]}" "$@"
elif "${namespaced[@]}" "$1" -c 'import pytest' 2>/dev/null; then
  "${namespaced[@]}" "$@"
else
  echo "no other user can run $1 here: lay the checkout and the interpreter where everybody may read them" >&2
  exit 1
fi
