#!/usr/bin/env bash
# Runs every fuzz target for the time, or the number of inputs, given. Targets are
# discovered, so that a new one cannot be forgotten; finding none is an error.
#
#   scripts/make/fuzz.sh 10m             every target for ten minutes
#   scripts/make/fuzz.sh 30s 5000x       those that read what an attacker sends for
#                                        30 seconds, every other for 5000 inputs
set -euo pipefail
cd "$(dirname "$0")/../.."

long=${1:?usage: $0 DURATION|COUNTx [DURATION|COUNTx for the others]}
short=${2:-$long}

# Where signerd meets bytes of others: transactions, the policy file, answers of
# nodes, messages on both sockets.
borders=(shared/solana shared/faultgrpc signerd/internal/{decode,policy,chain,submit,server,operator} mcpd/internal/propose)
for folder in "${borders[@]}"; do
	grep -qs '^func Fuzz' "$folder"/*_test.go || { echo "no fuzz target in $folder" >&2; exit 1; }
done

output=$(mktemp)
trap 'rm -f "$output"' EXIT

# fuzz runs one target. Inputs that reach new code are made smaller in a few steps
# only: by default that takes up to a minute each, in which nothing new is tried.
# Where the time is up in the middle of an input, go test may call that a failure:
# it is none if there is no input to show for it.
fuzz() {
	local folder=$1 target=$2 duration=$3
	echo "fuzz $folder $target for $duration"
	if go test "$folder" -run '^$' -fuzz "^$target\$" -fuzztime "$duration" -fuzzminimizetime 20x 2>&1 | tee "$output"; then
		return
	fi
	grep -q 'context deadline exceeded' "$output" && ! grep -q 'Failing input written\|panic' "$output"
}

# Only packages whose tests name a target are built for the listing.
mapfile -t folders < <(git ls-files --cached --others --exclude-standard '*_test.go' |
	xargs grep -l '^func Fuzz' | xargs -n 1 dirname | sort -u)
[ ${#folders[@]} -gt 0 ] || { echo 'no fuzz target found' >&2; exit 1; }

count=0
for folder in "${folders[@]}"; do
	duration=$short
	[[ " ${borders[*]} " != *" $folder "* ]] || duration=$long
	for target in $(go test -list '^Fuzz' "./$folder" | grep '^Fuzz'); do
		fuzz "./$folder" "$target" "$duration"
		count=$((count + 1))
	done
done
echo "$count fuzz targets ran, for $long at the borders and $short elsewhere"
