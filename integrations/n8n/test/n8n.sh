#!/usr/bin/env bash
# Runs the package in a real n8n with a real Standin service, whose bots join simulated meetings. Everything listens on
# loopback, in a temporary folder. It needs Go and a C++ compiler, and installs Node 24 if Node is older. Installing n8n
# takes minutes; to keep it for the next run, set N8N_INSTALL to a folder.
#
#   npm install && npm run build && test/n8n.sh
set -euo pipefail
umask 077
version=${N8N_VERSION:-2.41.1}
package=$(cd "$(dirname "$0")/.." && pwd)

tmp=$(mktemp -d)
export TMP=$tmp TMPDIR=$tmp
pids=()
cleanup() {
	status=$?
	for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
	for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null || true; done
	if [ $status -ne 0 ] && [ -f "$tmp/n8n.log" ]; then tail -n 30 "$tmp/n8n.log" >&2; fi
	rm -rf "$tmp"
	exit $status
}
trap cleanup EXIT

if [ "$(node -p 'parseInt(process.versions.node)')" -lt 24 ]; then
	node24=node-linux-$(node -p process.arch)
	npm install --prefix "$tmp/node" --no-audit --no-fund --loglevel=error "$node24@24"
	export PATH="$tmp/node/node_modules/$node24/bin:$PATH"
fi

started=$SECONDS
step() { printf '%4ds  %s\n' $((SECONDS - started)) "$1"; started=$SECONDS; }

install=${N8N_INSTALL:-$tmp/install}
if [ ! -x "$install/node_modules/.bin/n8n" ]; then
	mkdir -p "$install"
	printf '{"private": true, "dependencies": {"n8n": "%s"}}\n' "$version" > "$install/package.json"
	(cd "$install" && npm install --ignore-scripts --no-audit --no-fund --loglevel=error)
	# The database driver is compiled if there is no build of it, with the headers that are beside node.
	nodedir=$(dirname "$(dirname "$(node -p process.execPath)")")
	[ ! -d "$nodedir/include/node" ] || export npm_config_nodedir=$nodedir
	(cd "$install" && npm rebuild sqlite3 --loglevel=error)
	step "install n8n $version"
fi
n8n=$install/node_modules/.bin/n8n

(cd "$package/../.." && go build -o "$tmp/standin" ./cmd/standin)
"$tmp/standin" keys create --team n8n --test --data-dir "$tmp/data" > "$tmp/key" 2>> "$tmp/standin.log"
"$tmp/standin" teams show n8n --secret --json --data-dir "$tmp/data" |
	node -p 'JSON.parse(require("fs").readFileSync(0)).webhookSecret' > "$tmp/secret"
freePort() {
	node -e 'const s = require("net").createServer().listen(0, "127.0.0.1", () => { console.log(s.address().port); s.close(); })'
}
STANDIN_URL=http://127.0.0.1:$(freePort)
export STANDIN_URL
"$tmp/standin" serve --listen "${STANDIN_URL#http://}" --data-dir "$tmp/data" >> "$tmp/standin.log" 2>&1 &
pids+=($!)
waitFor() { # URL
	for _ in $(seq 120); do
		if curl -sf -o /dev/null "$1"; then return; fi
		sleep 1
	done
	echo "$1 does not respond" >&2
	return 1
}
waitFor "$STANDIN_URL/healthz"
step "build and start Standin"

N8N_PORT=$(freePort)
export N8N_PORT N8N_URL=http://127.0.0.1:$N8N_PORT
export N8N_USER_FOLDER=$tmp/n8n N8N_LISTEN_ADDRESS=127.0.0.1 WEBHOOK_URL=$N8N_URL/ N8N_SECURE_COOKIE=false
export N8N_DIAGNOSTICS_ENABLED=false N8N_VERSION_NOTIFICATIONS_ENABLED=false N8N_TEMPLATES_ENABLED=false
export N8N_PERSONALIZATION_ENABLED=false N8N_HIRING_BANNER_ENABLED=false N8N_RUNNERS_BROKER_PORT
N8N_RUNNERS_BROKER_PORT=$(freePort)
mkdir -p "$N8N_USER_FOLDER/.n8n/nodes"
(cd "$package" && npm pack --silent --pack-destination "$tmp" > /dev/null)
(cd "$N8N_USER_FOLDER/.n8n/nodes" && npm install --legacy-peer-deps --no-audit --no-fund --loglevel=error "$tmp"/n8n-nodes-standin-*.tgz)
node "$package/test/workflows.mjs"
"$n8n" import:credentials --input="$tmp/credentials.json" > "$tmp/n8n.log" 2>&1
"$n8n" import:workflow --input="$tmp/workflows.json" >> "$tmp/n8n.log" 2>&1
step "install the package, import the workflows"

for workflow in record later; do
	"$n8n" execute --id=$workflow --rawOutput > "$tmp/output" 2>> "$tmp/n8n.log"
	sed -n '/^{/,$p' "$tmp/output" > "$tmp/$workflow.json"
	node "$package/test/check.mjs" $workflow "$tmp/$workflow.json"
	step "execute and check the workflow $workflow"
done

"$n8n" publish:workflow --id=trigger >> "$tmp/n8n.log" 2>&1
node -p 'require("crypto").randomBytes(12).toString("hex") + "Aa1"' > "$tmp/password"
node "$install/node_modules/n8n/bin/n8n" start >> "$tmp/n8n.log" 2>&1 &
pids+=($!)
waitFor "$N8N_URL/healthz/readiness"
step "start n8n"
node "$package/test/check.mjs" trigger
step "start a workflow with an event, refuse a forged and a repeated one, deactivate it"
