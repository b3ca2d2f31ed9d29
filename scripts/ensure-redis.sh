#!/usr/bin/env bash
# Makes sure that there is a redis-server for the tests, which start their own on
# free ports. Installs one with the system's package manager where none is.
set -euo pipefail

if command -v redis-server >/dev/null; then
	exit 0
fi

source "$(dirname "$0")/as-root.sh"

echo "There is no redis-server; installing one for the tests." >&2
if command -v apt-get >/dev/null; then
	as_root apt-get update -qq || true # an old list may still do
	as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends redis-server || true
elif command -v brew >/dev/null; then
	brew install redis || true
elif command -v dnf >/dev/null; then
	as_root dnf install -y redis || as_root dnf install -y valkey-compat-redis || true
fi

if ! command -v redis-server >/dev/null; then
	cat >&2 <<'TEXT'
The tests need a redis-server (7.0 or later) in the PATH, and it could not be
installed from here. Install Redis by hand (https://redis.io/docs/latest/operate/oss_and_stack/install/)
and try again. `make demo` needs none.
TEXT
	exit 1
fi
