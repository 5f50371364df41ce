#!/usr/bin/env bash
# Prints the path of a heavy tool, building it first if this version has not been
# built with this Go on this machine. Each tool has a module of its own below
# scripts/tools, so that none is built with another's dependencies.
#
#   scripts/make/tool.sh buf|lint
set -euo pipefail
cd "$(dirname "$0")/../.."

case "${1:-}" in
buf) module=github.com/bufbuild/buf package=$module/cmd/buf ;;
lint) module=github.com/golangci/golangci-lint/v2 package=$module/cmd/golangci-lint ;;
*)
	echo "usage: $0 buf|lint" >&2
	exit 2
	;;
esac

folder=scripts/tools/$1
version=$(awk -v m="$module" '{ for (i = 1; i < NF; i++) if ($i == m) print $(i + 1) }' "$folder/go.mod")
[ -n "$version" ] || { echo "$folder/go.mod does not require $module" >&2; exit 1; }
cache=${XDG_CACHE_HOME:-$HOME/.cache}/countersign-tools
binary=$cache/$1-$version-$(go env GOVERSION)

if [ ! -x "$binary" ]; then
	echo "building $1 $version (once; this takes minutes on a cold machine)" >&2
	mkdir -p "$cache"
	# Built aside and moved, so that an interrupted build leaves nothing half done.
	CGO_ENABLED=0 GOOS='' GOARCH='' go -C "$folder" build -trimpath -o "$binary.$$" "$package"
	mv "$binary.$$" "$binary"
fi
echo "$binary"
