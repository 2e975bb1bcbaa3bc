#!/bin/sh
# Builds bin/standin_VERSION-1_ARCH.deb with debhelper. The same commit gives the same
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
maintainer=${STANDIN_MAINTAINER:-Local build <standin@example.com>}
host=$(go env GOHOSTARCH)
arch=${1:-$host}
tag=$(git describe --tags --exact-match 2>/dev/null || true)
version=${2:-${tag:-0.0.0+git$(TZ=UTC git show -s --date=format-local:%Y%m%d%H%M%S --format=%cd HEAD).$(git rev-parse --short=12 HEAD)}}
version=${version#v}
SOURCE_DATE_EPOCH=$(git show -s --format=%ct HEAD) # the time of all files in the package
export SOURCE_DATE_EPOCH
out=$PWD/bin
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
root=$work/debian/standin

# build ARCH FILE: builds the program.
build() { CGO_ENABLED=0 GOOS=linux GOARCH=$1 go build -trimpath -buildvcs=true -ldflags="-s -w" -o "$2" ./cmd/standin; }
# file MODE SOURCE DESTINATION: adds a file.
file() { install -D -m "$1" "$2" "$root$3"; }
# text FILE: adds standard input as a file.
text() { mkdir -p "$(dirname "$root$1")" && cat >"$root$1"; }

build "$arch" "$root/usr/bin/standin"
standin=$root/usr/bin/standin
if [ "$arch" != "$host" ]; then # this machine runs the one of its own
	standin=$work/standin
	build "$host" "$standin"
fi
"$standin" manual "$root/usr/share/man/man1"
"$standin" completions bash | text /usr/share/bash-completion/completions/standin
"$standin" completions zsh | text /usr/share/zsh/vendor-completions/_standin
"$standin" completions fish | text /usr/share/fish/vendor_completions.d/standin.fish
file 644 deploy/systemd/standin.service /lib/systemd/system/standin.service
file 644 deploy/systemd/standin-mail.service /lib/systemd/system/standin-mail.service
file 600 deploy/systemd/standin.env /etc/standin/standin.env # secrets can be in it
file 644 README.md /usr/share/doc/standin/README.md
for document in docs/*.md docs/reference/*.md docs/tutorials/*.md docs/pictures/*.svg docs/*.png; do
	file 644 "$document" "/usr/share/doc/standin/$document"
done
for example in deploy/monitoring/alerts.yaml deploy/monitoring/grafana.json deploy/egress.nft; do
	file 644 "$example" "/usr/share/doc/standin/examples/$(basename "$example")"
done
scripts/licenses.sh "$arch" | text /usr/share/doc/standin/third-party-licenses

cp CHANGELOG.md "$work/CHANGELOG.md"
for name in copyright control postinst postrm sysusers tmpfiles lintian-overrides; do
	case $name in
	control | copyright) cp "deploy/deb/$name" "$work/debian/$name" ;;
	*) cp "deploy/deb/$name" "$work/debian/standin.$name" ;;
	esac
done
sed -i "s/@YEAR@/$(date -u +%Y -d "@$SOURCE_DATE_EPOCH")/" "$work/debian/copyright"
sed -i "s/@MAINTAINER@/$(printf %s "$maintainer" | sed 's/[\/&\\]/\\&/g')/" "$work/debian/control"
cat >"$work/debian/changelog" <<END
standin ($version-1) unstable; urgency=medium

  * Version $version.
  * The changes are in changelog.gz.

 -- $maintainer  $(LC_ALL=C date -u -R -d "@$SOURCE_DATE_EPOCH")
END

mkdir -p "$out"
cd "$work"
export DEB_HOST_ARCH="$arch" LC_ALL=C
dh_installdocs
dh_installchangelogs CHANGELOG.md
dh_installsysusers
dh_installtmpfiles
dh_installsystemd standin.service
dh_installsystemd --no-enable --no-start --restart-after-upgrade standin-mail.service
dh_lintian
dh_compress --exclude=.md
dh_fixperms --exclude=etc/standin
dh_installdeb
dh_gencontrol
dh_md5sums
dh_builddeb --destdir="$out" -- -Zgzip
