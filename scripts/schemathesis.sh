#!/usr/bin/env bash
# Tests a running service against its API description with schemathesis.
#
#   scripts/schemathesis.sh [EXAMPLES]    inputs per operation and phase, default 100
#
# It installs schemathesis into a temporary virtual environment, starts the
# service on a free port of the loopback interface with a temporary data
# directory, and sends requests with a test key. Bots are not launched.
set -euo pipefail
cd "$(dirname "$0")/.."
examples=${1:-100}
dir=$(mktemp -d)
service=""
cleanup() {
	[ -z "$service" ] || { kill "$service" && wait "$service"; } 2>/dev/null || :
	rm -rf "$dir"
}
trap cleanup EXIT

python3 -m venv "$dir/venv" || {
	echo "schemathesis: python3 with venv is missing: apt-get install python3-venv" >&2
	exit 1
}
"$dir/venv/bin/pip" install --quiet --disable-pip-version-check schemathesis==4.32.5
go build -o "$dir/standin" ./cmd/standin

export STANDIN_INTAKE_SECRET=schemathesis-intake STANDIN_ADMIN_SECRET=schemathesis-admin STANDIN_LAUNCHER=manual
export STANDIN_PAYMENT_WEBHOOK_SECRET=schemathesis-payments STANDIN_SECURITY_CONTACT=mailto:security@example.com
export STANDIN_DATA_DIR="$dir/data"
key=$("$dir/standin" keys create --team schemathesis --test)
"$dir/standin" serve --listen 127.0.0.1:0 --log-level warn >"$dir/out" 2>"$dir/log" &
service=$!
for _ in $(seq 300); do
	url=$(grep -o 'http://127[^ ]*' "$dir/out" 2>/dev/null | head -n 1) && [ -n "$url" ] && break
	kill -0 "$service" 2>/dev/null || { cat "$dir/log" >&2; exit 1; }
	sleep 0.1
done

# The paths with a parameter cursor, and objects for the paths with an id.
paged=$(python3 -c '
import json, re
for path, item in json.load(open("api/openapi.json"))["paths"].items():
    if {"$ref": "#/components/parameters/Cursor"} in item.get("get", {}).get("parameters", []):
        print(re.sub(r"\{\w+\}", "[^/]+", path))' | paste -sd "|")
create() { # PATH BODY
	curl --silent --show-error --fail --header "Authorization: Bearer $key" --json "$2" "$url/api/v1/$1" |
		python3 -c 'import json, sys; print(json.load(sys.stdin)["id"])'
}
export JOB_ID ENDED_ID ENDPOINT_ID KEY_ID
JOB_ID=$(create jobs '{"externalId": "schemathesis", "meetingUrl": "https://meet.google.com/abc-defg-hij", "joinAt": "2099-01-01T00:00:00Z"}')
ENDED_ID=$(create jobs '{"externalId": "ended", "meetingUrl": "https://meet.google.com/abc-defg-hij", "joinAt": "2099-01-01T00:00:00Z"}')
curl --silent --fail --output /dev/null --header "Authorization: Bearer $key" --request DELETE "$url/api/v1/jobs/$ENDED_ID"
ENDPOINT_ID=$(create webhook-endpoints '{"url": "https://example.com/hook", "events": ["*"]}')
KEY_ID=$(create keys '{"name": "schemathesis", "scope": "read"}')

cat >"$dir/schemathesis.toml" <<EOF
seed = ${SEED:-1}
request-timeout = 30
[headers]
Authorization = "Bearer $key"
x-service-intake-secret = "$STANDIN_INTAKE_SECRET"
x-service-admin-secret = "$STANDIN_ADMIN_SECRET"
[generation]
max-examples = $examples
[checks.ensure_resource_availability]
enabled = false # a new job has no manifest yet
[checks.use_after_free]
enabled = false # DELETE cancels a job, which can still be read
[[operations]] # a cursor is valid only if an earlier page returned it
include-name-regex = "^GET ($paged)\$"
checks.positive_data_acceptance.expected-statuses = ["2xx", "400", "401", "404"]
[[operations]] # a known externalId returns its job, whatever the rest of the body says
include-name = "POST /api/v1/jobs"
checks.negative_data_rejection.expected-statuses = ["200", "400", "401", "405", "406", "409", "415"]
[[operations]] # the description requires 410 for an unknown nonce
include-path-regex = "^/api/v1/cli-auth/"
checks.positive_data_acceptance.expected-statuses = ["2xx", "410", "429"]
[[operations]] # a signature cannot be generated from the schema
include-path-regex = "^/webhooks/payments\$"
checks.positive_data_acceptance.expected-statuses = ["2xx", "400"]
[[operations]] # every path of a payment needs a signature first
include-path-regex = "^/webhooks/payments\$"
checks.unsupported_method.enabled = false
[[operations]] # a request without an upgrade, and a URL to dial
include-path = "/api/v1/jobs/{id}/audio"
checks.positive_data_acceptance.expected-statuses = ["426", "401", "404", "409", "429"]
[[operations]] # a range of days that is too long, and an expiry in the past
include-name-regex = "^(GET /api/v1/usage|POST /api/v1/keys)\$"
checks.positive_data_acceptance.expected-statuses = ["2xx", "400", "401", "404", "409", "429"]
[[operations]] # names of events that no version knows
include-path-regex = "^/api/v1/webhook-endpoints"
checks.positive_data_acceptance.expected-statuses = ["2xx", "400", "401", "404", "409", "429"]
[[operations]] # "either uri or text, or data" would be a oneOf, of which generators make types that cannot be read
include-name-regex = "^(POST|PATCH) /api/v1/(jobs|jobs/batch|jobs/[^/]+|jobs/[^/]+/play-audio|calendars|calendars/[^/]+)\$"
checks.positive_data_acceptance.expected-statuses = ["2xx", "400", "401", "404", "409", "429"]
[[operations]] # each job of a batch has a status of its own
include-name = "POST /api/v1/jobs/batch"
checks.negative_data_rejection.expected-statuses = ["200", "400", "401", "405", "406", "409", "415"]
[[operations]] # the schema is that of the text, not of what it says
include-path = "/openapi.yaml"
checks.response_schema_conformance.enabled = false
EOF
# What a schema cannot say: texts have no control characters, and a request line is short
# enough for the server.
cat >"$dir/hooks.py" <<'EOF'
import os
import unicodedata
from urllib.parse import urlencode
from uuid import UUID

import schemathesis
from hypothesis import strategies

plain = strategies.characters(exclude_categories=["Cc", "Cs"])
schemathesis.openapi.format("text", strategies.text(alphabet=plain))


def is_plain(value):
    if isinstance(value, dict):
        return all(is_plain(key) and is_plain(item) for key, item in value.items())
    if isinstance(value, list):
        return all(map(is_plain, value))
    return not isinstance(value, str) or all(unicodedata.category(c) not in ("Cc", "Cs") for c in value)


@schemathesis.hook
def filter_body(context, body):
    return is_plain(body)


# Every second ID that could exist is that of an object that does.
objects = {"/api/v1/jobs/{id}": "JOB_ID", "/api/v1/webhook-endpoints/{id}": "ENDPOINT_ID", "/api/v1/keys/{id}": "KEY_ID"}


@schemathesis.hook
def map_path_parameters(context, path_parameters):
    variable = next((name for path, name in objects.items() if context.operation.path.startswith(path)), None)
    try:
        if variable and UUID(path_parameters["id"]).int % 2:
            return {**path_parameters, "id": os.environ[variable]}
    except (AttributeError, KeyError, TypeError, ValueError):
        pass  # it is no ID
    return path_parameters


@schemathesis.hook
def before_call(context, case, kwargs):
    if case.path.endswith("/live"):  # the stream of a job that has not ended does not end either
        try:
            UUID(case.path_parameters["id"])
            case.path_parameters["id"] = os.environ["ENDED_ID"]
        except (AttributeError, KeyError, TypeError, ValueError):
            pass  # it is no ID


@schemathesis.hook
def filter_query(context, query):
    return is_plain(query) and len(urlencode(query or {}, doseq=True)) < 8000
EOF
export SCHEMATHESIS_HOOKS=hooks PYTHONPATH=$dir
code=0
cd "$dir" # it keeps a cache in the working directory
"$dir/venv/bin/schemathesis" --config-file "$dir/schemathesis.toml" run "$url/openapi.json" --url "$url" --max-failures 50 || code=$?
grep -E 'level=ERROR|panic' "$dir/log" && code=1
exit "$code"
