#!/usr/bin/env bash
# Lints for linux and for darwin: the linter sees one system at a time, and the
# sockets and key stores have a file for each.
set -euo pipefail
cd "$(dirname "$0")/../.."

lint=$(scripts/make/tool.sh lint)
"$lint" config verify
for system in linux darwin; do
	echo "lint for $system"
	GOOS=$system CGO_ENABLED=0 "$lint" run --allow-parallel-runners ./...
done
