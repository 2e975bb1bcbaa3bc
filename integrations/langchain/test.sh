#!/usr/bin/env bash
# Runs the example against a service on this machine.
set -euo pipefail
cd "$(dirname "$0")"
dir=$(mktemp -d)
service=""
cleanup() {
	[ -z "$service" ] || { kill "$service" && wait "$service"; } 2>/dev/null || :
	rm -rf "$dir"
}
trap cleanup EXIT

python3 -m venv "$dir/env"
"$dir/env/bin/pip" install --quiet --disable-pip-version-check langchain==1.5.2 langchain-mcp-adapters==0.3.2
(cd ../.. && go build -o "$dir/standin" ./cmd/standin)
STANDIN_API_KEY=$("$dir/standin" keys create --team langchain --test --data-dir "$dir/data")
export STANDIN_API_KEY
"$dir/standin" serve --listen 127.0.0.1:0 --data-dir "$dir/data" --log-level warn >"$dir/out" &
service=$!
for _ in $(seq 300); do # until it listens
	STANDIN_URL=$(grep -o 'http://127[^ ]*' "$dir/out" 2>/dev/null | head -n 1) && break
	sleep 0.1
done
export STANDIN_URL
"$dir/env/bin/python" -m unittest -v test_agent
