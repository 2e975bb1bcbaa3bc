#!/bin/sh
# Runs agent.py of a package in a practice meeting until it has answered, prints how long that takes from an
# empty folder, and runs the tests of the package.
#
#   integrations/practice.sh integrations/pipecat
#
# Needs what `standin practice` needs, Go, Python and curl.
set -eu
package=$(cd "$1" && pwd)
tmp=$(mktemp -d)
practice= agent=

cleanup() {
  for pid in $agent $practice; do
    kill "$pid" 2>/dev/null && wait "$pid" || true
  done
  rm -rf "$tmp"
}
trap cleanup EXIT
trap 'exit 1' HUP INT TERM

fail() {
  echo "practice.sh: $1" >&2
  tail -n 20 "$tmp"/*.log >&2
  exit 1
}

# await SECONDS WHAT COMMAND... repeats a command until it succeeds.
await() {
  until=$(($(date +%s) + $1)) what=$2
  shift 2
  until "$@" >/dev/null 2>&1; do
    [ "$(date +%s)" -lt "$until" ] || fail "$what did not happen in time"
    sleep 0.5
  done
}

now() { date +%s.%N; }
since() { awk -v from="$1" -v to="$(now)" 'BEGIN { printf "%.1f", to - from }'; }
field() { python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1"; }
api() { curl --silent --show-error --fail --max-time 20 --header @"$tmp/headers" "$@"; }

# A Standin with a meeting in which three people talk.
(cd "$package/../.." && go build -o "$tmp/standin" ./cmd/standin)
STANDIN_NO_SANDBOX=true "$tmp/standin" practice --no-browser --data-dir "$tmp/data" --listen 127.0.0.1:0 \
  >"$tmp/practice.out" 2>"$tmp/practice.log" &
practice=$!
await 120 "the practice meeting" grep -q 'To end, press' "$tmp/practice.out"
url=$(sed -n 's/.*STANDIN_URL=\([^ ]*\).*/\1/p' "$tmp/practice.out")
meeting=$(sed -n 's/.* jobs create \([^ ]*\) .*/\1/p' "$tmp/practice.out")
sed -n 's/.*STANDIN_API_KEY=\([^ ]*\).*/Authorization: Bearer \1/p' "$tmp/practice.out" >"$tmp/headers"
echo 'Content-Type: application/json' >>"$tmp/headers"
STANDIN_WEBHOOK_SECRET=$("$tmp/standin" teams show practice --secret --data-dir "$tmp/data" | grep -o 'whsec_[^ ]*')
PORT=$(python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])')
export STANDIN_WEBHOOK_SECRET PORT

# What a reader of README.md does.
began=$(now)
mkdir "$tmp/agent"
cd "$tmp/agent"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check "$package"
cp "$package/agent.py" .
echo "installed after $(since "$began") s"
env/bin/python agent.py >"$tmp/agent.log" 2>&1 &
agent=$!
await 60 "the start of the agent" curl --silent --output /dev/null "http://127.0.0.1:$PORT/"
echo "the agent listens after $(since "$began") s"
cat >"$tmp/job.json" <<EOF
{"externalId": "agent", "meetingUrl": "$meeting", "platform": "meet",
 "streams": [{"url": "ws://127.0.0.1:$PORT/", "send": true, "audio": "mixed", "sampleRate": 16000,
              "events": ["participants", "speaking"]}]}
EOF
job=$(api --data @"$tmp/job.json" "$url/api/v1/jobs" | field id)

timeline_has() { api "$url/api/v1/jobs/$job/timeline?limit=100" | grep -q "$1"; }
await 120 "the connection of the stream" timeline_has stream_connected
echo "the stream is connected after $(since "$began") s"
sleep 40 # people talk, and the agent answers
api --request POST "$url/api/v1/jobs/$job/leave-call" >/dev/null
await 180 "the end of the recording" timeline_has manifest.finalized
kill -0 "$agent" 2>/dev/null || fail "the agent has ended with its first meeting"

# The timeline tells nothing of sound that a stream played, but the manifest has the voice of the bot.
api "$url/api/v1/jobs/$job/manifest" >"$tmp/manifest.json"
python3 - "$tmp/manifest.json" "$began" <<'EOF' || fail "the bot said nothing in the meeting"
import json, sys
from datetime import datetime

manifest = json.load(open(sys.argv[1]))
voice = [part for part in manifest["speech"] if part["participantId"] == "standin"]
if not voice:
    sys.exit(1)
started = datetime.fromisoformat(manifest["timeline"]["recordingStartedAt"].replace("Z", "+00:00")).timestamp()
said = sum(part["endMs"] - part["startMs"] for part in voice) / 1000
print(f"the bot spoke {len(voice)} times, for {said:.1f} s in total")
print(f"first answer {started + voice[0]['startMs'] / 1000 - float(sys.argv[2]):.1f} s after the empty folder")
EOF

# Then the tests of the package, against a simulated Standin.
env/bin/pip install --quiet --disable-pip-version-check "$package[test]"
env/bin/python -m pytest --quiet -p no:cacheprovider "$package"
