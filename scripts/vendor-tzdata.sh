#!/bin/sh
# Replaces the time zones that the binary has by those of the newest tzdata package. Needs
# Debian or Ubuntu with current package lists (apt-get update), zic and zip.
set -eu
archive=$(cd "$(dirname "$0")/../internal/base/zoneinfo" && pwd)/zoneinfo.zip
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
apt-get download tzdata
dpkg-deb -x tzdata_*.deb package
mkdir zones
PATH=$PATH:/usr/sbin zic -b slim -d zones package/usr/share/zoneinfo/tzdata.zi
# The first line of the news: Release 2026f - 2026-10-27 23:16:49 -0700
zcat package/usr/share/doc/tzdata/changelog.gz | sed -n '/^Release [0-9]/{s/^Release \([^ ]*\) - \([^ ]*\) .*/\1 \2/p;q}' >zones/RELEASE
test -s zones/RELEASE
rm -f "$archive"
cd zones
find . -exec touch -d @0 {} +
find . -type f | LC_ALL=C sort | TZ=UTC zip -q -9 -X -D -@ "$archive"
echo "time zones of $(cat RELEASE)"
