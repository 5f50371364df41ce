#!/usr/bin/env bash
# Generates the Go of proto/ beside the committed one and compares.
set -euo pipefail
cd "$(dirname "$0")/../.."

buf=$(scripts/make/tool.sh buf)
fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT

"$buf" generate -o "$fresh"
if ! diff -r --exclude='*.proto' proto "$fresh/proto"; then
	echo 'the committed Go of proto/ is stale: run make generate' >&2
	exit 1
fi
