#!/usr/bin/env bash
# Runs the tests with the race detector, with the given flags of go test. A failed test
# is not repeated.
#
# Packages run three at a time, the longest first: many tests wait, for a browser, a
# recording in real time or a timeout. Their files are in memory if there are 4 GiB for
# them, because the databases sync every commit.
#
# Packages are compiled without inlining, which takes longer than it saves. Some are
# compiled without the race detector, which would take most of the time: SQLite (C
# translated to Go), recurring dates, password hashes, YAML, JSON schemas, migrations,
# regular expressions, compression, and packages of data types. One that uses sync/atomic
# must not be among them: the linker may keep its copy of a function for the whole
# program, and the detector then reports races that do not exist.
set -uo pipefail
gotestsum=gotest.tools/gotestsum@v1.13.0
longest='internal/bot/session cmd/standin internal/recording/build internal/bot/recorder internal/bot/meeting internal/dashboard
	internal/replica internal/bot/browser internal/service internal/store internal/bot/capture internal/bot/zoomsdk internal/lifecycle
	internal/httpapi internal/testing/fieldpages internal/pagecheck deploy internal/dispatch internal/mail'
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
for modules in standin github.com golang.org/x google.golang.org go.opentelemetry.io gocloud.dev k8s.io sigs.k8s.io; do
	flags+=("-gcflags=$modules/...=-l -dwarf=false")
done
for package in compress/flate image/png regexp regexp/syntax; do
	flags+=("-gcflags=$package=-race=false -l -dwarf=false")
done
for module in modernc.org github.com/alecthomas/kong github.com/teambition go.yaml.in github.com/goccy/go-yaml github.com/pressly/goose golang.org/x/crypto k8s.io/api github.com/aws/aws-sdk-go-v2/service github.com/google/gnostic-models github.com/chromedp/cdproto \
	github.com/go-json-experiment/json github.com/santhosh-tekuri/jsonschema github.com/yuin/goldmark golang.org/x/net/html; do
	inline=-l
	case $module in modernc.org | github.com/teambition) inline= ;; esac
	flags+=("-gcflags=$module/...=-race=false $inline -dwarf=false")
done

only_long= # packages that have no other tests
[[ " $* " != *' -short '* ]] || only_long='bench internal/testing/chaos'
first=$(printf 'standin/%s\n' $longest)
rest=$(go list ./... | grep -vxF "$(printf 'standin/%s\n' $longest $only_long)") || exit 1
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
	--packages="$packages" -- -vet=off "${flags[@]}" -timeout 30m -p 3 "$@" 2>&1 | tee "$work/output"
code=${PIPESTATUS[0]}

if [ "$code" -ne 0 ]; then
	echo
	echo "Failures:"
	failures "$work/output"
fi
exit "$code"
