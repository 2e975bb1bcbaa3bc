#!/usr/bin/env bash
# Builds and tests the clients in Python and TypeScript.
#
#   scripts/clients.sh setup               install the pinned tools into bin/clients and node_modules, unless they are there
#   scripts/clients.sh generate            make the transports from api/openapi.yaml, and the synchronous Python client
#   scripts/clients.sh check               fail if something generated is not current; check types and style
#   scripts/clients.sh conformance SUITE   run the tests of python, python-sync or typescript (see make clients-test)
#   scripts/clients.sh dist                build the TypeScript client for its tests
#   scripts/clients.sh build DIR           write the Python wheel and sdist, and the npm package
#
# Node comes with the Python packages, so that only Python must be installed.
set -euo pipefail
umask 022
cd "$(dirname "$0")/.."
root=$PWD
venv=$root/bin/clients/venv
export PATH=$venv/bin:$PATH npm_config_update_notifier=false npm_config_fund=false npm_config_audit=false

setup() {
	local stamp=$root/bin/clients/installed wanted
	wanted=$(cat clients/python/requirements-dev.txt clients/typescript/package-lock.json | sha256sum)
	if [ -d clients/typescript/node_modules ] && [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ]; then
		return
	fi
	echo "clients: installing the tools of the clients"
	python3 -m venv --clear "$venv"
	"$venv/bin/pip" install --quiet --disable-pip-version-check --requirement clients/python/requirements-dev.txt
	(cd clients/typescript && npm ci --silent)
	printf '%s\n' "$wanted" >"$stamp"
}

# generate FOLDER: makes what is generated in a copy of clients.
generate() {
	(
		cd "$1/python"
		rm -rf src/standin/generated
		openapi-python-client generate --fail-on-warning --path "$root/api/openapi.yaml" --config generator.yaml --custom-template-path templates --output-path src/standin/generated --meta none >"$root/bin/clients/generate.log" ||
			{ cat "$root/bin/clients/generate.log" >&2; exit 1; }
		python params.py "$root/api/openapi.json" src/standin/generated
		python unasync.py src/standin/_async_client.py src/standin/_client.py
		python unasync.py tests/test_async.py tests/test_sync.py
		ruff check --quiet --no-cache --fix --select I src/standin/_client.py tests/test_sync.py
		ruff format --quiet --no-cache src/standin/_client.py tests/test_sync.py
	)
	(
		cd "$1/typescript"
		rm -rf src/generated
		DESCRIPTION=$root/api/openapi.yaml node_modules/.bin/openapi-ts
		sed -i '/^ *\/\/ TODO/d' src/generated/client/client.gen.ts # a note of the generator's authors to themselves
	)
}

# copy_clients: sets copy to a folder with copies of the clients, which is removed at the end.
copy_clients() {
	copy=$(mktemp -d)
	trap 'rm -rf "$copy"' EXIT
	mkdir "$copy/python" "$copy/typescript"
	(cd clients/python && cp -R src tests README.md pyproject.toml generator.yaml params.py templates unasync.py "$copy/python")
	(cd clients/typescript && cp -R src README.md package.json openapi-ts.config.ts tsconfig*.json "$copy/typescript" && ln -s "$PWD/node_modules" "$copy/typescript/node_modules")
	cp LICENSE "$copy/python"
	cp LICENSE "$copy/typescript"
	find "$copy" -name __pycache__ -prune -exec rm -rf {} +
}

check() {
	copy_clients
	generate "$copy"
	if ! diff -r -q -x __pycache__ clients/python/src "$copy/python/src" ||
		! diff -q clients/python/tests/test_sync.py "$copy/python/tests/test_sync.py" ||
		! diff -r -q clients/typescript/src "$copy/typescript/src"; then
		echo "clients: the generated code is not current; run make clients" >&2
		exit 1
	fi
	(cd clients/python && ruff check --quiet --no-cache . && ruff format --quiet --no-cache --check . && mypy --no-error-summary --cache-dir "$root/bin/clients/mypy" &&
		MYPYPATH=src mypy --no-error-summary --cache-dir "$root/bin/clients/mypy" tests/test_async.py tests/test_sync.py examples/record.py examples/receiver.py)
	(cd clients/typescript && node_modules/.bin/tsc --noEmit && node_modules/.bin/tsc -p tsconfig.build.json --noEmit)
}

# dist: builds the TypeScript client beside its sources, for tests.
dist() { (cd clients/typescript && node_modules/.bin/tsc -p tsconfig.build.json); }

conformance() {
	case $1 in
	python) cd clients/python && PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$PWD/src exec pytest --junit-xml "$STANDIN_TEST_REPORT" tests/test_async.py ;;
	python-sync) cd clients/python && PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$PWD/src exec pytest --junit-xml "$STANDIN_TEST_REPORT" tests/test_sync.py ;;
	typescript)
		cd clients/typescript # after dist
		node_modules/.bin/tsc
		exec "${STANDIN_TEST_NODE:-node}" --test --test-reporter=spec --test-reporter-destination=stdout --test-reporter=junit \
			--test-reporter-destination="$STANDIN_TEST_REPORT" build/test/conformance.test.js
		;;
	esac
}

# build DIR: the same commit gives the same files.
build() {
	local out
	mkdir -p "$1"
	out=$(cd "$1" && pwd)
	SOURCE_DATE_EPOCH=$(git show -s --format=%ct HEAD)
	export SOURCE_DATE_EPOCH
	copy_clients
	(cd "$copy/python" && python -m build --no-isolation --outdir "$out" . >/dev/null)
	(cd "$copy/typescript" && node_modules/.bin/tsc -p tsconfig.build.json && npm pack --silent --pack-destination "$out" >/dev/null)
}

case ${1:-} in
setup) setup ;;
generate) generate clients ;;
check) check ;;
dist | conformance | build) "$@" ;;
*)
	sed -n '2,/^$/s/^# \{0,1\}//p' "$0" >&2
	exit 2
	;;
esac
