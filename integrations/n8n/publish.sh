#!/usr/bin/env bash
# Builds, checks and publishes the package to npm. Log in with "npm login" first. Arguments are passed to npm publish,
# for example --dry-run or --tag next.
set -euo pipefail
cd "$(dirname "$0")"
if [ -n "$(git status --porcelain .)" ]; then
	echo "There are uncommitted changes in $(pwd). Commit them first." >&2
	exit 1
fi
if grep -rn 'standin\.example\b' package.json credentials nodes | grep -v 'standin\.example\.com'; then
	echo "Replace standin.example with the address of the project first." >&2
	exit 1
fi
npm install --no-audit --no-fund
npm run build
npm run lint
npm test
npm publish --access public "$@"
