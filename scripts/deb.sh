#!/bin/sh
# Builds bin/standin_VERSION_ARCH.deb.
#
#   scripts/deb.sh [ARCH] [VERSION]   default: this machine's architecture, the
#                                     version of the tag, or 0.0.0 and the commit
set -eu
cd "$(dirname "$0")/.."
ARCH=${1:-$(go env GOARCH)}
commit=$(git rev-parse --short=12 HEAD)
DATE=$(TZ=UTC git show -s --date=format-local:%Y-%m-%dT%H:%M:%SZ --format=%cd HEAD)
stamp=$(TZ=UTC git show -s --date=format-local:%Y%m%d%H%M%S --format=%cd HEAD)
tag=$(git describe --tags --exact-match 2>/dev/null || true)
VERSION=${2:-${tag:-0.0.0+git$stamp.$commit}}
VERSION=${VERSION#v}
export ARCH VERSION DATE SOURCE_DATE_EPOCH
SOURCE_DATE_EPOCH=$(git show -s --format=%ct HEAD)
mkdir -p bin/deb
CGO_ENABLED=0 GOOS=linux GOARCH=$ARCH go build -trimpath -buildvcs=true -ldflags="-s -w" -o bin/deb/standin ./cmd/standin
# Go's own tools are built for this machine.
env -u GOARCH go run github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.48.0 package \
	--config deploy/deb/nfpm.yaml --packager deb --target "bin/standin_${VERSION}_$ARCH.deb"
