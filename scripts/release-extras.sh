#!/usr/bin/env bash
# Makes what a package has beside the binary: completions and manual pages.
set -euo pipefail
cd "$(dirname "$0")/.."

rm -rf extras
mkdir -p extras/completions extras/man
go build -o extras/leasehold ./cmd/node
for shell in bash zsh fish; do
	extras/leasehold completion "$shell" >"extras/completions/leasehold.$shell"
done
extras/leasehold man --dir extras/man
rm extras/leasehold
