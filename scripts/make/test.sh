#!/usr/bin/env bash
# Every test: those of the local chain and its programs in Node, then all of Go's. The last line
# counts both. Go's test cache is off: tests run the binaries and go list, which
# the cache cannot see.
set -euo pipefail
cd "$(dirname "$0")/../.."

results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
go build -o "$results/testreport" ./scripts/testreport

# A failure is counted in the last line and decides the exit code there.
for folder in devchain fixtures; do
	(cd "scripts/$folder" && node --test --test-reporter=spec --test-reporter-destination=stdout \
		--test-reporter=tap --test-reporter-destination="$results/$folder.tap") || true
done

# A failing go test is reported, and ends this script, on the other side of the pipe.
{ go test -json -count=1 -timeout 25m ./... || true; } | "$results/testreport" "$results"/*.tap
