#!/bin/sh
# Builds bin/standin_VERSION_ARCH.deb with dpkg-deb. The same commit gives the same
# file.
#
#   scripts/deb.sh [ARCH] [VERSION]   default: this machine's architecture, the
#                                     version of the tag, or 0.0.0 and the commit
#
# STANDIN_MAINTAINER is the package's maintainer, as "Name <address>".
set -eu
umask 022
unset GOFLAGS GOAMD64 GOARM64 GOEXPERIMENT # the file does not depend on the environment
cd "$(dirname "$0")/.."
maintainer=${STANDIN_MAINTAINER:-Local build <root@localhost>}
arch=${1:-$(go env GOARCH)}
tag=$(git describe --tags --exact-match 2>/dev/null || true)
version=${2:-${tag:-0.0.0+git$(TZ=UTC git show -s --date=format-local:%Y%m%d%H%M%S --format=%cd HEAD).$(git rev-parse --short=12 HEAD)}}
version=${version#v}
SOURCE_DATE_EPOCH=$(git show -s --format=%ct HEAD) # the time of all files in the package
export SOURCE_DATE_EPOCH
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
chmod 755 "$root"

# file MODE SOURCE DESTINATION: adds a file.
file() { install -D -m "$1" "$2" "$root$3"; }

CGO_ENABLED=0 GOOS=linux GOARCH=$arch go build -trimpath -buildvcs=true -ldflags="-s -w" -o "$root/usr/bin/standin" ./cmd/standin
file 644 deploy/systemd/standin.service /usr/lib/systemd/system/standin.service
file 644 deploy/systemd/standin-mail.service /usr/lib/systemd/system/standin-mail.service
file 600 deploy/systemd/standin.env /etc/standin/standin.env # secrets can be in it
file 600 deploy/systemd/mail.env /etc/standin/mail.env
file 644 README.md /usr/share/doc/standin/README.md
file 644 docs/install.md /usr/share/doc/standin/install.md
file 644 LICENSE /usr/share/doc/standin/copyright
for script in postinst prerm postrm; do
	file 755 "deploy/deb/$script" "/DEBIAN/$script"
done
file 644 deploy/deb/conffiles /DEBIAN/conffiles
size=$(find "$root" -type f -printf '%s\n' | awk '{ size += $1 } END { print int(size / 1024) }') # does not depend on the file system
sed -e "s/@VERSION@/$version/" -e "s/@ARCH@/$arch/" -e "s/@SIZE@/$size/" -e "s/@MAINTAINER@/$(printf %s "$maintainer" | sed 's/[\/&\\]/\\&/g')/" deploy/deb/control >"$root/DEBIAN/control"
mkdir -p bin
dpkg-deb --root-owner-group -Zgzip --build "$root" "bin/standin_${version}_$arch.deb"
