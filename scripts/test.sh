#!/usr/bin/env bash
# Runs all tests with the race detector. At the end it repeats the failures, whose
# messages are otherwise far above the logs of services and bots.
#
# Packages that check audio/video sync run one at a time, after the others. The
# other packages run two at a time, the longest first, so that none of them is
# left over at the end.
#
# SQLite is compiled without the race detector: it is C translated to Go, and the
# detector would take half of the CPU time of the store's tests. Vet runs in
# make check.
#
# Files of the tests are in memory if there are 4 GiB for them: the databases sync
# every commit, which a busy disk delays. Binaries stay on disk.
set -uo pipefail
recording='^standin/(cmd/standin|internal/bot/recorder|internal/testing/mediacheck)$'
longest='internal/bot internal/recording internal/testing/chaos internal/store internal/bot/meeting'
output=$(mktemp)
trap 'rm -rf "$output" "${memory:-}"' EXIT
if [ "$(df --output=avail /dev/shm 2>/dev/null | tail -n 1)" -gt 4194304 ] 2>/dev/null &&
	! findmnt -no OPTIONS /dev/shm | grep -qw noexec; then
	export GOTMPDIR="${TMPDIR:-/tmp}"
	memory=$(mktemp -d /dev/shm/standin-test.XXXXXX)
	chmod 1777 "$memory" # PostgreSQL runs as a user of its own
	export TMPDIR=$memory
fi
code=0

# run PARALLEL PACKAGE…: tests packages, PARALLEL at a time.
run() {
	parallel=$1
	shift
	go test -race -vet=off -gcflags="modernc.org/...=-race=false" -timeout 30m -p "$parallel" "$@" 2>&1 | tee -a "$output"
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
	echo "Failures:"
	grep -E '^ *--- FAIL|^ +[a-z_0-9]+_test\.go:[0-9]+: |^panic:|^FAIL|DATA RACE' "$output" |
		grep -vE '_test\.go:[0-9]+: (meeting: |told: |[a-z.]+\.log:$)' | cut -c1-600 | tail -n 60
fi
exit "$code"
