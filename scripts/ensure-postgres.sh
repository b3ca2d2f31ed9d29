#!/usr/bin/env bash
# Makes sure that there is a PostgreSQL for the tests of examples/postgres, which run
# a cluster of their own. Installs one with the system's package manager where none is.
set -euo pipefail

have() {
	command -v initdb >/dev/null || compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null
}

if have; then
	exit 0
fi

source "$(dirname "$0")/as-root.sh"

echo "There is no PostgreSQL; installing one for the tests." >&2
if command -v apt-get >/dev/null; then
	as_root apt-get update -qq || true # an old list may still do
	# No cluster of the system's own: nothing but the tests' runs.
	as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends postgresql-common || true
	[ -d /etc/postgresql-common ] && echo 'create_main_cluster = false' | as_root tee /etc/postgresql-common/createcluster.conf >/dev/null
	as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends postgresql || true
elif command -v brew >/dev/null; then
	brew install postgresql@17 && brew link postgresql@17 || true
elif command -v dnf >/dev/null; then
	as_root dnf install -y postgresql-server || true
fi

if ! have; then
	cat >&2 <<'TEXT'
The tests of examples/postgres need PostgreSQL's initdb and postgres, in the PATH or
in /usr/lib/postgresql, and they could not be installed from here. Install PostgreSQL
by hand (https://www.postgresql.org/download/) and try again.
TEXT
	exit 1
fi
