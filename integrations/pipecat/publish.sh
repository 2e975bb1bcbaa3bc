#!/bin/sh
# Builds the package and uploads it to PyPI. Twine asks for a token, or reads it from TWINE_PASSWORD.
set -eu
cd "$(dirname "$0")"
if [ -n "$(git status --porcelain .)" ]; then
  echo "publish.sh: commit or remove the changes in this folder first" >&2
  exit 1
fi
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
python3 -m venv "$tmp/env"
"$tmp/env/bin/pip" install --quiet build twine
"$tmp/env/bin/python" -m build --outdir "$tmp/dist"
"$tmp/env/bin/twine" check --strict "$tmp"/dist/*
"$tmp/env/bin/twine" upload "$tmp"/dist/*
