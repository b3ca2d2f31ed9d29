#!/usr/bin/env bash
# Makes sure that the tests of the alert rules find promtool: in the PATH or in .bin.
# Without it, and without apt-get, these tests are skipped.
set -euo pipefail
cd "$(dirname "$0")/.."

if command -v promtool >/dev/null || [ -x .bin/promtool ]; then
	exit 0
fi
if ! command -v apt-get >/dev/null; then
	echo "There is no promtool: the tests of the alert rules are skipped." >&2
	exit 0
fi

source scripts/as-root.sh

# The package would start a server; its tool is all that is wanted.
echo "There is no promtool; unpacking one for the tests." >&2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
chmod 755 "$dir"
as_root apt-get update -qq || true # an old list may still do
if (cd "$dir" && apt-get download -qq prometheus) && dpkg -x "$dir"/prometheus_*.deb "$dir/root"; then
	mkdir -p .bin
	cp "$dir/root/usr/bin/promtool" .bin/promtool
else
	echo "promtool could not be had: the tests of the alert rules are skipped." >&2
fi
