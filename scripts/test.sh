#!/usr/bin/env bash
# Runs all tests with the race detector. A test that fails beside the others runs
# once more, alone, if at most ten failed. Tests that failed and then passed are
# listed at the end; the first failure's output stays in the log.
#
# Packages run four at a time, those that take longest first: many tests wait, for a
# browser, a recording in real time or a timeout. Four keep two cores busy. Five took no
# less time, and with six, tests with recordings failed.
#
# SQLite is compiled without the race detector: it is C translated to Go, and the
# detector would take half of the CPU time of the store's tests. So is the module that
# computes recurring dates: the tests of calendar messages take 23 s of CPU time with
# the detector there, and 4 s without. So are password hashes, the parser of YAML, with
# which each process of a service reads the API description, and compress/flate and
# image/png, which took 4 of 11 s of the tests of captures. So are modules that are
# mostly data types and encodings, which compile in half of the time without it.
#
# A module that uses sync/atomic or generic functions of sync must not be one of them:
# the linker may keep its copy of such a function for the whole program, and the
# detector then reports races that do not exist. Locks and wait groups are fine, because
# calls of their methods are not inlined. Modules other than SQLite compile without
# inlining, which takes up to 40% of the time of large ones. Vet runs in make check.
#
# Files of the tests are in memory if there are 4 GiB for them: the databases sync
# every commit, which a busy disk delays. Binaries stay on disk.
set -uo pipefail
gotestsum=gotest.tools/gotestsum@v1.13.0
longest='internal/bot/session cmd/standin internal/recording/build internal/bot/recorder internal/bot/meeting internal/testing/chaos internal/dashboard
	internal/replica internal/bot/browser internal/service internal/store internal/bot/capture internal/bot/zoomsdk internal/lifecycle
	internal/httpapi internal/testing/fieldpages internal/pagecheck deploy bench internal/testing/deliverytest internal/dispatch internal/mail'
work=$(mktemp -d)
trap 'rm -rf "$work" "${memory:-}"' EXIT
if [ "$(df --output=avail /dev/shm 2>/dev/null | tail -n 1)" -gt 4194304 ] 2>/dev/null &&
	! findmnt -no OPTIONS /dev/shm | grep -qw noexec; then
	export GOTMPDIR="${TMPDIR:-/tmp}"
	memory=$(mktemp -d /dev/shm/standin-test.XXXXXX)
	chmod 1777 "$memory" # PostgreSQL runs as a user of its own
fi

# failures prints the start of each message of the tests that failed, without the
# logs that follow.
failures() {
	awk '
		/^=== (FAIL|Errors)/ { print; inside = 1; messages = 0; lines = 0; next }
		/^(=== |DONE )/ { inside = 0 }
		!inside || /^ *$/ { next }
		/^ *[a-z_0-9]+\.go:[0-9]+: / { messages++; lines = 0 }
		++lines <= (messages ? 6 : 40) && messages <= 10 { print substr($0, 1, 500) }
	' "$1" | tail -n 80
}

# Binaries contain no debug information and no symbols.
flags=(-race -gcflags=all=-dwarf=false -ldflags=-s)
for modules in github.com golang.org/x google.golang.org go.opentelemetry.io gocloud.dev k8s.io sigs.k8s.io; do
	flags+=("-gcflags=$modules/...=-l -dwarf=false")
done
for package in compress/flate image/png; do
	flags+=("-gcflags=$package=-race=false -l -dwarf=false")
done
for module in modernc.org github.com/teambition go.yaml.in golang.org/x/crypto k8s.io/api github.com/aws/aws-sdk-go-v2/service github.com/google/gnostic-models github.com/chromedp/cdproto; do
	inline=-l
	case $module in modernc.org | github.com/teambition) inline= ;; esac
	flags+=("-gcflags=$module/...=-race=false $inline -dwarf=false")
done

first=$(printf 'standin/%s\n' $longest)
rest=$(go list ./... | grep -vxF "$first") || exit 1
packages=$(printf '%s ' $first $rest)

# Programs that tests build share the compiled packages of the tests.
STANDIN_TEST_BUILD_FLAGS=$(printf '%s\n' -trimpath=false "${flags[@]}")
export STANDIN_TEST_BUILD_FLAGS

# The garbage collector of compilers and tests takes a tenth of the CPU time less, and
# the processes more memory.
export GOGC=${GOGC:-400}

# Otherwise a process with the race detector sleeps for a second before it exits.
export GORACE=${GORACE:-atexit_sleep_ms=50}

TMPDIR=${memory:-${TMPDIR:-/tmp}} go run "${flags[@]}" "$gotestsum" --format pkgname-and-test-fails --hide-summary=skipped \
	--rerun-fails=1 --rerun-fails-max-failures=10 --rerun-fails-report="$work/reruns" --packages="$packages" -- \
	-vet=off "${flags[@]}" -timeout 30m -p 4 2>&1 | tee "$work/output"
code=${PIPESTATUS[0]}

if [ "$code" -ne 0 ]; then
	echo
	echo "Failures:"
	failures "$work/output"
fi
if [ -s "$work/reruns" ]; then
	echo
	echo "Tests that failed and ran again:"
	cat "$work/reruns"
fi
exit "$code"
