#!/bin/sh
# Builds the release of the last commit twice and compares all files: in another
# folder, with an empty build cache, and with another umask, time zone, language and
# environment of Go.
#
#   scripts/release-check.sh [PLATFORM…]   default: all of scripts/release.sh
set -eu
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
git clone -q . "$work/first"
git clone -q . "$work/second/in/another/folder"
find "$work/second" -exec touch -d 2001-02-03 {} +

(
	umask 022
	export TZ=UTC LC_ALL=C
	"$work/first/scripts/release.sh" "$@"
)
(
	umask 077
	export TZ=Asia/Tokyo LC_ALL=C.UTF-8 GOFLAGS=-tags=other GOAMD64=v3 GOCACHE="$work/cache"
	"$work/second/in/another/folder/scripts/release.sh" "$@"
)
diff "$work/first/bin/release/SHA256SUMS" "$work/second/in/another/folder/bin/release/SHA256SUMS"
echo "release: both builds have these checksums"
cat "$work/first/bin/release/SHA256SUMS"
