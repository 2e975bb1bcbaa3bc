#!/bin/sh
# Runs every fuzz target of the module for the given duration or number of inputs.
#
#   scripts/fuzz.sh 60s
#   scripts/fuzz.sh 1000x
set -eu
time=${1:-60s}
for package in $(go list ./...); do
	for target in $(go test -list '^Fuzz' "$package" | grep '^Fuzz' || true); do
		echo "fuzz: $package $target for $time"
		go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 10x "$package"
	done
done
