#!/bin/sh
# Prints the licenses of the modules that standin is built from for linux/ARCH.
#
#   scripts/licenses.sh ARCH
set -eu
cd "$(dirname "$0")/.."
CGO_ENABLED=0 GOOS=linux GOARCH=$1 go list -deps -f '{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}' ./cmd/standin |
	LC_ALL=C sort -u | while read -r module version dir; do
	find "$dir" -maxdepth 1 -type f \( -iname 'LICEN[CS]E*' -o -iname 'COPYING*' -o -iname 'NOTICE*' \) | LC_ALL=C sort | while read -r license; do
		printf '%s\n%s %s: %s\n\n' "--------------------------------" "$module" "$version" "$(basename "$license")"
		cat "$license"
		echo
	done
done
