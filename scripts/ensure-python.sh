#!/usr/bin/env bash
# Makes sure that there is a python3 for the tests of the examples. Installs one
# with the system's package manager where none is.
set -euo pipefail

# The examples are written for 3.8.
have() { python3 -c 'import sys; sys.exit(sys.version_info < (3, 8))' 2>/dev/null; }

if have; then
	exit 0
fi

source "$(dirname "$0")/as-root.sh"

echo "There is no python3; installing one for the tests." >&2
if command -v apt-get >/dev/null; then
	as_root apt-get update -qq || true # an old list may still do
	as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends python3 || true
elif command -v brew >/dev/null; then
	brew install python3 || true
elif command -v dnf >/dev/null; then
	as_root dnf install -y python3 || true
fi

if ! have; then
	cat >&2 <<'TEXT'
The tests of the examples need Python 3.8 or later as python3 in the PATH, and it
could not be installed from here. Install it by hand (https://www.python.org/downloads/)
and try again.
TEXT
	exit 1
fi
