#!/bin/sh
# Runs every fuzz target of the module for the given duration or number of inputs.
#
#   scripts/fuzz.sh 60s
#   scripts/fuzz.sh 1000x
#
# Each package with fuzz targets is built once, and others are not built.
set -eu
time=${1:-60s}
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
corpus=$(go env GOCACHE)/fuzz
grep -rlE --include='*_test.go' '^func Fuzz' . | xargs -n 1 dirname | sort -u >"$work/folders"
while read -r folder; do
	package=$(go list "$folder")
	go test -c -fuzz=. -o "$work/test" "$folder"
	(cd "$folder" && "$work/test" -test.list '^Fuzz') | grep '^Fuzz' >"$work/targets"
	while read -r target; do
		echo "fuzz: $package $target for $time"
		(cd "$folder" && "$work/test" -test.run '^$' -test.fuzz "^$target\$" -test.fuzztime "$time" \
			-test.fuzzminimizetime 10x -test.fuzzcachedir "$corpus/$package" -test.timeout 0) </dev/null
	done <"$work/targets"
done <"$work/folders"
