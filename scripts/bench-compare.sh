#!/bin/sh
# Measures the working tree and another commit in the same rounds, and prints
# the difference with benchstat.
#
#   scripts/bench-compare.sh REF [arguments of the program bench]
set -eu

ref=$1
shift
work=$(mktemp -d)
trap 'git worktree remove --force "$work/base" >/dev/null 2>&1 || true; rm -rf "$work"' EXIT INT TERM

git worktree add --quiet --detach "$work/base" "$ref"
(cd "$work/base" && go build -trimpath -o "$work/standin-base" ./cmd/standin)
go run ./bench -base "$work/standin-base" -out "$work/results" "$@"
cd "$work/results"
go run golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da "base=base.txt" "standin=standin.txt"
