#!/bin/sh
# Fails unless a tag is the version of the API, of the clients and of the chart.
#
#   scripts/release-version.sh v1.2.3
set -eu
cd "$(dirname "$0")/.."
version=${1#v}
for found in \
	"api/openapi.yaml $(sed -n 's/^  version: //p' api/openapi.yaml)" \
	"clients/python/pyproject.toml $(sed -n 's/^version = "\(.*\)"$/\1/p' clients/python/pyproject.toml)" \
	"clients/typescript/package.json $(sed -n 's/^  "version": "\(.*\)",$/\1/p' clients/typescript/package.json)" \
	"deploy/helm $(sed -n 's/^version: //p' deploy/helm/*/Chart.yaml)"; do
	[ "${found#* }" = "$version" ] || {
		echo "release-version: ${found%% *} has version ${found#* }, the tag $version" >&2
		exit 1
	}
done
