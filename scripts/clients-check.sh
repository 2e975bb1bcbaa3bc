#!/usr/bin/env bash
# Generates clients from the API description with the generators of clients/generators.md,
# compiles them, and runs a program with each against a running service with the
# simulator (scripts/clients).
#
#   scripts/clients-check.sh [GENERATOR...]              default: all
#   scripts/clients-check.sh --compile [GENERATOR...]    only generate from api/openapi.json, and compile (Go and Java)
#
# Each client is generated from a saved copy of the description and from its URL, which
# must give the same files. The script prints what works and fails if that is not the
# table of clients/generators.md, or if openapi-spec-validator finds something. Without
# arguments it also runs the code samples of the description.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
all="openapi-fetch hey-api typescript-fetch openapi-generator-python openapi-python-client openapi-generator-go oapi-codegen openapi-generator-java"
compile=""
if [ "${1:-}" = --compile ]; then
	compile=yes
	shift
	all="openapi-generator-go openapi-generator-java"
fi
generators=${*:-$all}
parts="create list get cancel live manifest media errors"

openapi_generator=7.25.0
openapi_python_client=0.29.1
openapi_spec_validator=0.9.0
oapi_codegen=v2.8.2
oapi_codegen_runtime=v1.9.0

dir=$(mktemp -d)
service=""
cleanup() {
	[ -z "$service" ] || { kill "$service" && wait "$service"; } 2>/dev/null || :
	chmod -R u+w "$dir"
	rm -rf "$dir"
}
trap cleanup EXIT

step() { echo "clients-check: $*" >&2; }

step "install the generators"
if [ -z "$compile" ]; then
	python3 -m venv "$dir/venv"
	"$dir/venv/bin/pip" install --quiet --disable-pip-version-check \
		"openapi-spec-validator==$openapi_spec_validator" "openapi-python-client==$openapi_python_client" \
		httpx attrs pydantic requests 'urllib3<3' python-dateutil typing-extensions
	cp scripts/clients/package.json "$dir"
	(cd "$dir" && npm install --silent --no-audit --no-fund)
fi
mvn -q -B dependency:copy -Dartifact=org.openapitools:openapi-generator-cli:$openapi_generator -DoutputDirectory="$dir"
openapi_generator() {
	java -jar "$dir/openapi-generator-cli-$openapi_generator.jar" generate "$@" >"$dir/log" 2>&1 || { tail -n 20 "$dir/log" >&2; return 1; }
}

# generate GENERATOR DESCRIPTION writes a client to the folder generated.
generate() {
	case $1 in
	openapi-fetch) npx openapi-typescript "$2" --output generated/standin.d.ts >/dev/null 2>&1 ;;
	hey-api) DESCRIPTION=$2 npx openapi-ts >/dev/null ;;
	typescript-fetch)
		# Without these properties it also generates webhooks, whose files do not compile.
		openapi_generator -i "$2" -g typescript-fetch -o generated \
			--global-property apis,models,supportingFiles --additional-properties=importFileExtension=.js
		;;
	openapi-generator-python) openapi_generator -i "$2" -g python -o generated ;;
	openapi-python-client)
		case $2 in http*) source=--url ;; *) source=--path ;; esac
		"$dir/venv/bin/openapi-python-client" generate $source "$2" --config config.yaml --meta none --output-path generated --overwrite >"$dir/log" 2>&1 &&
			! grep -A 3 'WARNING\|Cannot parse\|Unsupported' "$dir/log" >&2
		;;
	openapi-generator-go)
		openapi_generator -i "$2" -g go -o generated --additional-properties=packageName=standin,withGoMod=false &&
			rm -rf generated/test # of the package that it would publish
		;;
	oapi-codegen) mkdir -p generated && go tool oapi-codegen -config config.yaml "$2" ;;
	openapi-generator-java) openapi_generator -i "$2" -g java -o generated --additional-properties=hideGenerationTimestamp=true ;;
	esac
}

# build GENERATOR compiles the client with its program.
build() {
	case $1 in
	openapi-fetch | hey-api | typescript-fetch) npx tsc -p . >&2 ;;
	openapi-generator-go | oapi-codegen) go mod tidy -e >/dev/null 2>&1 && go build -tags clientscheck -o program . ;;
	openapi-generator-java)
		cp Main.java generated/src/main/java
		(cd generated && mvn -q -B compile dependency:copy-dependencies -DincludeScope=runtime >&2)
		;;
	esac
}

# run GENERATOR runs the program.
run() {
	case $1 in
	openapi-fetch | hey-api | typescript-fetch) node out/main.js ;;
	openapi-generator-python) PYTHONPATH=generated "$dir/venv/bin/python" main.py ;;
	openapi-python-client) "$dir/venv/bin/python" main.py ;;
	openapi-generator-go | oapi-codegen) ./program ;;
	openapi-generator-java) (cd generated && java -cp 'target/classes:target/dependency/*' Main) ;;
	esac
}

# prepare GENERATOR copies the program of a generator.
prepare() {
	mkdir "$dir/$1"
	cd "$dir/$1"
	cp "$root/scripts/clients/$1/"* .
	case $1 in
	openapi-fetch | hey-api | typescript-fetch) cp "$root/scripts/clients/"{check.ts,tsconfig.json,package.json} . ;;
	*python*) cp "$root/scripts/clients/check.py" . ;;
	openapi-generator-go | oapi-codegen) cp "$root/scripts/clients/check.go" . && go mod init clientscheck 2>/dev/null ;;
	esac
	if [ "$1" = oapi-codegen ]; then
		go get -tool "github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@$oapi_codegen" 2>/dev/null
		go get "github.com/oapi-codegen/runtime@$oapi_codegen_runtime" 2>/dev/null
	fi
}

if [ -n "$compile" ]; then
	for generator in $generators; do
		step "compile $generator"
		(prepare "$generator" && generate "$generator" "$root/api/openapi.json" && build "$generator")
	done
	exit
fi

step "start a service"
go build -o "$dir/standin" ./cmd/standin
export STANDIN_DATA_DIR="$dir/data" STANDIN_LAUNCHER=manual
STANDIN_API_KEY=$("$dir/standin" keys create --team clients --test)
"$dir/standin" serve --listen 127.0.0.1:0 --log-level warn >"$dir/out" 2>"$dir/service.log" &
service=$!
for _ in $(seq 300); do
	STANDIN_URL=$(grep -o 'http://127[^ ]*' "$dir/out" 2>/dev/null | head -n 1) && [ -n "$STANDIN_URL" ] && break
	kill -0 "$service" 2>/dev/null || { cat "$dir/service.log" >&2; exit 1; }
	sleep 0.1
done
export STANDIN_API_KEY STANDIN_URL
curl -fsS "$STANDIN_URL/openapi.json" -o "$dir/openapi.json"
curl -fsS "$STANDIN_URL/openapi.yaml" -o "$dir/openapi.yaml"
"$dir/venv/bin/openapi-spec-validator" "$dir/openapi.json" "$dir/openapi.yaml"

header="| generator | from a file | from the URL |"
rule="|---|---|---|"
for part in $parts; do
	header="$header $part |"
	rule="$rule---|"
done
printf '%s\n%s\n' "$header" "$rule" >"$dir/table"
for generator in $generators; do
	step "$generator"
	(
		prepare "$generator"
		file=ok url=ok
		generate "$generator" "$STANDIN_URL/openapi.json" || url=no
		[ ! -e generated ] || mv generated from-url
		generate "$generator" "$dir/openapi.json" || file=no
		[ "$url" = no ] || diff -r from-url generated >&2 || url=differs
		rm -rf from-url
		{ build "$generator" && run "$generator"; } >result || :
		row="| $generator | $file | $url |"
		for part in $parts; do
			row="$row $(sed -n "s/^$part: //p" result) |"
		done
		echo "$row" >>"$dir/table"
	)
done
cat "$dir/table"
while read -r row; do
	grep -Fxq "$row" clients/generators.md || {
		step "clients/generators.md does not have the row: $row"
		exit 1
	}
done <"$dir/table"
if [ $# = 0 ]; then
	step "run the code samples of the description"
	"$dir/venv/bin/python" scripts/clients/samples.py "$dir/openapi.json" "$dir"
fi
