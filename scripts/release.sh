#!/bin/sh
# Builds bin/release: the binaries of all platforms, their SBOMs (CycloneDX), the
# Debian packages and checksums.
#
# The binary of this machine's platform is built again in another folder with an
# empty build cache, and must be the same file.
#
#   scripts/release.sh [PLATFORM…]   default: linux/amd64 linux/arm64 darwin/amd64 darwin/arm64
set -eu
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- linux/amd64 linux/arm64 darwin/amd64 darwin/arm64
out=$PWD/bin/release
rm -rf "$out"
mkdir -p "$out"

# build PLATFORM FILE: builds the binary of a platform from the current folder.
build() {
	CGO_ENABLED=0 GOFLAGS= GOOS=${1%/*} GOARCH=${1#*/} \
		go build -trimpath -tags grpcnotrace -buildvcs=true -ldflags="-s -w" -o "$2" ./cmd/standin
}

for platform; do
	name=standin_$(echo "$platform" | tr / _)
	echo "release: $name"
	build "$platform" "$out/$name"
	go run ./scripts/sbom "$out/$name" >"$out/$name.cdx.json"
	[ "${platform%/*}" != linux ] || scripts/deb.sh "${platform#*/}" >/dev/null
done
mv bin/standin_*.deb "$out"

host=$(go env GOHOSTOS)/$(go env GOHOSTARCH)
case " $* " in
*" $host "*)
	if [ -n "$(git status --porcelain)" ]; then
		echo "release: not built again: there are uncommitted changes"
	else
		echo "release: building $host again in another folder"
		again=$(mktemp -d)
		trap 'rm -rf "$again"' EXIT
		git clone -q . "$again/source"
		(cd "$again/source" && GOCACHE=$again/cache build "$host" "$again/standin")
		cmp "$again/standin" "$out/standin_$(echo "$host" | tr / _)"
	fi
	;;
esac
(cd "$out" && sha256sum standin_* >SHA256SUMS)
echo "release: $out"
