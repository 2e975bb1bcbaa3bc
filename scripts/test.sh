#!/usr/bin/env bash
# Runs all tests with the race detector, and repeats at the end what failed: the
# lines that say so stand far above the logs of a service and its bots.
#
# Packages that judge how well sound and picture of a recording fit run one at a
# time and alone: they need the machine for themselves. All others share it, the
# longest first, so that none of them is left over at the end; the bot's visits
# and those of its adapters, each a crowd of browsers, are not side by side.
#
# The race detector watches all code but SQLite's, which is C made Go: nothing of
# ours is in there, and watched it takes half of the processor time of the store's
# tests.
set -uo pipefail
recording='^standin/(cmd/standin|internal/bot/recorder|internal/testing/mediacheck)$'
longest='internal/bot internal/recording internal/testing/chaos internal/store internal/bot/meeting'
output=$(mktemp)
trap 'rm -f "$output"' EXIT
code=0

# run AT_ONCE PACKAGE…: tests packages, so many at a time.
run() {
	at_once=$1
	shift
	go test -race -gcflags="modernc.org/...=-race=false" -timeout 30m -p "$at_once" "$@" 2>&1 | tee -a "$output"
	[ "${PIPESTATUS[0]}" -eq 0 ] || code=1
}

all=$(go list ./...) || exit 1
first=$(printf 'standin/%s\n' $longest)
# shellcheck disable=SC2046,SC2086 # package paths have no spaces
run 2 $first $(grep -vE "$recording" <<<"$all" | grep -vxF "$first")
# shellcheck disable=SC2046
run 1 $(grep -E "$recording" <<<"$all")

if [ "$code" -ne 0 ]; then
	echo
	echo "What failed, once more:"
	grep -E '^ *--- FAIL|^ +[a-z_0-9]+_test\.go:[0-9]+: |^panic:|^FAIL|DATA RACE' "$output" |
		grep -vE '_test\.go:[0-9]+: (meeting: |told: |[a-z.]+\.log:$)' | cut -c1-600 | tail -n 60
fi
exit "$code"
