#!/bin/sh
# Replaces the Redoc that the API reference uses: scripts/vendor-redoc.sh VERSION
#
# Redoc's footer loads a logo from its vendor's host, which the page's
# Content-Security-Policy refuses. The logo becomes an empty image. A comment in a style
# is dropped. If the test of
# internal/server/httpapi/reference reports a blocked style, Policy needs its new hash.
set -eu
version=${1:?usage: scripts/vendor-redoc.sh VERSION}
assets=$(cd "$(dirname "$0")/../internal/server/httpapi/reference/assets" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm pack --silent "redoc@$version" >/dev/null
tar xzf redoc-*.tgz
sed 's#https://cdn.redoc.ly/redoc/logo-mini.svg#data:,#; s#/\* contain: strict;[^*]*\*/##' package/bundles/redoc.standalone.js >"$assets/redoc.standalone.js"
cp package/bundles/redoc.standalone.js.LICENSE.txt "$assets/"
cp package/LICENSE "$assets/redoc.LICENSE.txt"
