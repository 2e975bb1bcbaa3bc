#!/bin/sh
# Installs what Standin needs beside Go, through the system's package manager.
#
#   scripts/setup.sh run    what a bot needs: Chromium and ffmpeg
#   scripts/setup.sh test   that, and for the tests PostgreSQL's server and an
#                           S3 server, which is built from its Go module
#
# It says what it does, does nothing when everything is there, and uses sudo
# only when it is not root.
set -eu

missing=""

# need COMMAND PACKAGE WHAT FOR: notes a package whose command is not there.
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

# s3_server builds the S3 server that storage is tested against, so that the
# tests find it in Go's build cache.
s3_server() {
	cd "$(dirname "$0")/../internal/testing/s3test/server"
	[ -n "$(go list -m -f '{{.Dir}}' github.com/versity/versitygw)" ] ||
		echo "setup: building the S3 server of the tests (one to two minutes, this once)"
	go build -o /dev/null . 2>&1 | grep -v '^go: downloading' >&2 || :
}

has_browser || {
	echo "setup: Chromium is missing (the browser that bots join meetings with)"
	missing="$missing chromium fonts-dejavu-core" # without a font, names are boxes
}
need ffmpeg ffmpeg "puts recordings together"
if [ "${1:-run}" = test ]; then
	need cc gcc "the race detector of go test"
	need zsh zsh "completions are tried in it"
	need fish fish "completions are tried in it"
	has_postgres || {
		echo "setup: PostgreSQL's server is missing (tests run on a private cluster of it)"
		missing="$missing postgresql"
	}
fi
if [ "${1:-run}" = test ]; then
	(s3_server)
fi
[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null 2>&1; then
	echo "setup: this system has no apt-get. Please install, with its own package manager:$missing" >&2
	echo "setup: (Fedora: dnf install chromium ffmpeg-free postgresql-server gcc; macOS: brew install --cask chromium && brew install ffmpeg postgresql)" >&2
	exit 1
fi

as_root=""
if [ "$(id -u)" -ne 0 ]; then
	command -v sudo >/dev/null 2>&1 || {
		echo "setup: neither root nor sudo. Please run as root: apt-get install$missing" >&2
		exit 1
	}
	as_root=sudo
fi

case " $missing " in *" gcc "*) missing="$missing libc6-dev" ;; esac
echo "setup: installing with apt-get:$missing"
$as_root apt-get update -qq
# shellcheck disable=SC2086 # the list is meant to be split
DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -qq --no-install-recommends $missing >/dev/null
echo "setup: done"
