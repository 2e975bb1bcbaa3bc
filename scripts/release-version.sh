#!/bin/sh
# Fails unless a tag is the version of the API, of the clients and of the chart.
#
#   scripts/release-version.sh v1.2.3
set -eu
cd "$(dirname "$0")/.."
version=${1#v}
for found in \
	"api/openapi.yaml $(sed -n 's/^  version: //p' api/openapi.yaml)" \
	"client/client.go $(sed -n 's/^const Version = "\(.*\)"$/\1/p' client/client.go)" \
	"clients/python/src/standin/_version.py $(sed -n 's/^__version__ = "\(.*\)"$/\1/p' clients/python/src/standin/_version.py)" \
	"clients/typescript/package.json $(sed -n 's/^  "version": "\(.*\)",$/\1/p' clients/typescript/package.json)" \
	"clients/typescript/src/version.ts $(sed -n "s/^export const version = '\(.*\)';$/\1/p" clients/typescript/src/version.ts)" \
	"deploy/helm $(sed -n 's/^version: //p' deploy/helm/*/Chart.yaml)"; do
	[ "${found#* }" = "$version" ] || {
		echo "release-version: ${found%% *} has version ${found#* }, the tag $version" >&2
		exit 1
	}
done
