#!/usr/bin/env bash
# Runs every fuzz target for the time, or the number of inputs, given. Targets are
# discovered, so that a new one cannot be forgotten; finding none is an error.
#
#   scripts/make/fuzz.sh 30s|5000x
set -euo pipefail
cd "$(dirname "$0")/../.."

duration=${1:?usage: $0 DURATION|COUNTx}
# Only packages whose tests name a target are built for the listing.
mapfile -t folders < <(git ls-files --cached --others --exclude-standard '*_test.go' |
	xargs grep -l '^func Fuzz' | xargs -n 1 dirname | sort -u | sed 's|^|./|')
[ ${#folders[@]} -gt 0 ] || { echo 'no fuzz target found' >&2; exit 1; }

count=0
for folder in "${folders[@]}"; do
	for target in $(go test -list '^Fuzz' "$folder" | grep '^Fuzz'); do
		echo "fuzz $folder $target for $duration"
		go test "$folder" -run '^$' -fuzz "^$target\$" -fuzztime "$duration"
		count=$((count + 1))
	done
done
echo "$count fuzz targets ran for $duration each"
