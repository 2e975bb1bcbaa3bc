#!/bin/sh
# Installs what Standin needs in addition to Go, with the system's package
# manager.
#
#   scripts/setup.sh run    requirements of a bot: Chromium, ffmpeg and Xvfb
#   scripts/setup.sh test   also the requirements of the tests: PostgreSQL, a C
#                           compiler, shells, nftables and runc; and on Debian
#                           Chromium's headless shell, which makes them faster
#   scripts/setup.sh clients    requirements of scripts/clients.sh only
#   scripts/setup.sh generators requirements of make clients-check only
#   scripts/setup.sh deb        requirements of scripts/deb.sh only
#   scripts/setup.sh packages   also the requirements of make packages-test
#
# It prints what it installs, does nothing if nothing is missing, and uses sudo
# only if it does not run as root.
set -eu

missing=""

# need COMMAND PACKAGE PURPOSE: adds the package if the command is missing.
need() {
	command -v "$1" >/dev/null 2>&1 || {
		echo "setup: $1 is missing ($3)"
		missing="$missing $2"
	}
}

has_browser() {
	for name in chromium chromium-browser google-chrome google-chrome-stable; do
		command -v "$name" >/dev/null 2>&1 && return 0
	done
	return 1
}

has_postgres() {
	ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null 2>&1
}

need_python() {
	python3 -c 'import ensurepip' 2>/dev/null || {
		echo "setup: Python with venv is missing (for $1)"
		missing="$missing python3 python3-venv"
	}
}

case ${1:-run} in
clients | generators | deb) ;;
*)
	has_browser || {
		echo "setup: Chromium is missing (the browser that bots join meetings with)"
		missing="$missing chromium fonts-dejavu-core" # without a font, names are drawn as boxes
	}
	need ffmpeg ffmpeg "packs recordings"
	[ "$(uname)" != Linux ] || need Xvfb xvfb "the virtual display of headed browsers"
	need flite flite "the voice of bots in make demo"
	need pocketsphinx_continuous "pocketsphinx pocketsphinx-en-us" "speech recognition in make demo"
	;;
esac
case ${1:-run} in
deb | packages)
	need dh_installsystemd debhelper "builds the Debian package"
	need lintian lintian "checks it"
	;;
schemathesis) need_python schemathesis ;;
clients)
	need_python "the clients; Node is installed with it"
	need ffmpeg ffmpeg "decodes the audio file of a test"
	;;
generators)
	need_python "generated clients"
	need npm npm "for generated TypeScript clients"
	need curl curl "saves the API description"
	need javac default-jdk-headless "for openapi-generator"
	need mvn maven "for openapi-generator"
	;;
esac
if [ "${1:-run}" = test ]; then
	need cc gcc "the race detector of go test"
	need curl curl "for the test of the documented commands"
	need zsh zsh "for the tests of completions"
	need fish fish "for the tests of completions"
	need faad faad "decodes the sound of recordings, beside ffmpeg"
	need nft nftables "for the tests of the egress rules"
	need ip iproute2 "for the tests of the egress rules"
	need espeak-ng espeak-ng "speech for the test of transcripts"
	need npm "nodejs npm" "the TypeScript client of the test of agents"
	need runc runc "for the test of the seccomp profile"
	need pgbouncer pgbouncer "for the test of poolers"
	need systemd-analyze systemd "for the test of the units"
	has_postgres || {
		echo "setup: PostgreSQL is missing (tests run on a private cluster)"
		missing="$missing postgresql"
	}
fi
[ "${1:-run}" != packages ] || need mmdebstrap mmdebstrap "installs a Debian system into a folder"

as_root=""
[ "$(id -u)" -eq 0 ] || as_root=sudo

# install [OPTION] PACKAGE...
install() {
	DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

# Tests that need only pages use the headless shell if it is installed. It has the
# version of Chromium only if both are Debian's.
install_headless_shell() {
	package=chromium-headless-shell
	! command -v $package >/dev/null 2>&1 || return 0
	dpkg-query -W chromium-common >/dev/null 2>&1 || return 0
	echo "setup: installing $package (tests that need only pages use less CPU time with it)"
	[ -n "$(apt-cache madison $package)" ] || $as_root apt-get update -qq || true
	install --no-remove $package || echo "setup: $package was not installed; tests use Chromium"
}

if [ -z "$missing" ]; then
	[ "${1:-run}" != test ] || install_headless_shell
	exit 0
fi

if ! command -v apt-get >/dev/null 2>&1; then
	echo "setup: this system has no apt-get. Install with its package manager:$missing" >&2
	echo "setup: (Fedora: dnf install chromium ffmpeg-free xorg-x11-server-Xvfb postgresql-server gcc; macOS: brew install --cask chromium && brew install ffmpeg postgresql)" >&2
	exit 1
fi

if [ -n "$as_root" ] && ! command -v sudo >/dev/null 2>&1; then
	echo "setup: not root, and sudo is missing. Run as root: apt-get install$missing" >&2
	exit 1
fi

case " $missing " in *" gcc "*) missing="$missing libc6-dev" ;; esac
echo "setup: installing with apt-get:$missing"
$as_root apt-get update -qq
# shellcheck disable=SC2086 # word splitting is intended
install $missing
[ "${1:-run}" != test ] || install_headless_shell
echo "setup: done"
