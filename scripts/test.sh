#!/usr/bin/env bash
# Runs go test with the given arguments, and repeats at the end what failed:
# the lines that say so stand far above the logs of a service and its bots.
set -uo pipefail
output=$(mktemp)
trap 'rm -f "$output"' EXIT
go test "$@" 2>&1 | tee "$output"
code=${PIPESTATUS[0]}
if [ "$code" -ne 0 ]; then
	echo
	echo "What failed, once more:"
	grep -E '^ *--- FAIL|^ +[a-z_0-9]+_test\.go:[0-9]+: |^panic:|^FAIL|DATA RACE' "$output" |
		grep -vE '_test\.go:[0-9]+: (meeting: |[a-z.]+\.log:$)' | cut -c1-600 | tail -n 60
fi
exit "$code"
