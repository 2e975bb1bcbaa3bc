#!/bin/sh
# Builds bin/release: the binaries of all platforms, their SBOMs (CycloneDX), the
# Debian packages, the clients in Python and TypeScript, and checksums. The same commit gives the same files
# (scripts/release-check.sh).
#
#   scripts/release.sh [PLATFORM…]   default: linux/amd64 linux/arm64 darwin/amd64 darwin/arm64
set -eu
umask 022
unset GOFLAGS GOAMD64 GOARM64 GOEXPERIMENT # the files do not depend on the environment
cd "$(dirname "$0")/.."
GOTOOLCHAIN=$(sed -n 's/^toolchain //p' go.mod)
export GOTOOLCHAIN
[ $# -gt 0 ] || set -- linux/amd64 linux/arm64 darwin/amd64 darwin/arm64
out=$PWD/bin/release
rm -rf "$out"
mkdir -p "$out"

for platform; do
	name=standin_$(echo "$platform" | tr / _)
	echo "release: $name"
	CGO_ENABLED=0 GOOS=${platform%/*} GOARCH=${platform#*/} \
		go build -trimpath -buildvcs=true -ldflags="-s -w" -o "$out/$name" ./cmd/standin
	go run -trimpath ./scripts/sbom "$out/$name" >"$out/$name.cdx.json"
	[ "${platform%/*}" != linux ] || scripts/deb.sh "${platform#*/}" >/dev/null
done
mv bin/standin_*.deb "$out"
scripts/clients.sh setup
scripts/clients.sh build "$out"
(cd "$out" && sha256sum standin[_-]* >SHA256SUMS)
echo "release: $out"
