#!/usr/bin/env bash
# Tests the app with Zapier's offline tester and a real Standin service, whose bots join simulated meetings. Everything
# listens on loopback, in a temporary folder. It needs Go and Node 20 or later, and installs Zapier's packages from npm.
set -euo pipefail
umask 077
package=$(cd "$(dirname "$0")" && pwd)

tmp=$(mktemp -d)
service=
cleanup() {
  status=$?
  if [ -n "$service" ]; then kill "$service" 2>/dev/null && wait "$service" || true; fi
  if [ $status -ne 0 ] && [ -f "$tmp/standin.log" ]; then tail -n 20 "$tmp/standin.log" >&2; fi
  rm -rf "$tmp"
  exit $status
}
trap cleanup EXIT

started=$SECONDS
step() { printf '%4ds  %s\n' $((SECONDS - started)) "$1"; started=$SECONDS; }

mkdir "$tmp/app"
cp -R "$package"/*.js "$package/package.json" "$package/test" "$tmp/app"
(cd "$tmp/app" && npm install --no-package-lock --ignore-scripts --no-audit --no-fund --loglevel=error)
step "install Zapier's packages"

(cd "$package/../.." && go build -o "$tmp/standin" ./cmd/standin)
"$tmp/standin" keys create --team zapier --test --data-dir "$tmp/data" > "$tmp/key" 2>> "$tmp/standin.log"
"$tmp/standin" teams show zapier --secret --json --data-dir "$tmp/data" |
  node -p 'JSON.parse(require("fs").readFileSync(0)).webhookSecret' > "$tmp/secret"
"$tmp/standin" serve --listen 127.0.0.1:0 --data-dir "$tmp/data" > "$tmp/out" 2>> "$tmp/standin.log" &
service=$!
for _ in $(seq 300); do # until it listens
  STANDIN_URL=$(grep -o 'http://127[^ ]*' "$tmp/out" | head -n 1) && break
  sleep 0.1
done
export STANDIN_URL TMP="$tmp"
step "build and start Standin"

cd "$tmp/app" && NODE_ENV=test node --test --test-reporter=spec test/*.test.js
