#!/usr/bin/env bash
# Gives the project its home: rewrites the module path, the images and the chart in
# all files of the repository. docs/internals/publishing.md says what else a first
# publication needs.
#
#   scripts/publish-as.sh MODULE IMAGE CHART
#   scripts/publish-as.sh git.example.com/acme/standin images.example.com/acme/standin images.example.com/acme/charts/standin
#
# MODULE is the path of the Go module, at which the repository is. IMAGE is the
# prefix of the images IMAGE-service and IMAGE-bot, CHART the chart in an OCI
# registry, without oci://; its last segment becomes the name of the chart. Run it
# once, in a clean working tree.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -eq 3 ] || { sed -n '2,/^set/s/^# \{0,1\}//p' "$0" | sed '$d' >&2; exit 2; }
module=$1 image=$2 chart=$3
for value in "$module" "$image" "$chart"; do
	[[ $value =~ ^[a-z0-9][a-z0-9.-]*(:[0-9]+)?(/[A-Za-z0-9._-]+)+$ ]] || {
		echo "publish-as: $value is not of the form host/path" >&2
		exit 2
	}
done
[[ ${chart##*/} =~ ^[a-z0-9][a-z0-9-]*$ ]] || { echo "publish-as: ${chart##*/} is not a valid name of a chart" >&2; exit 2; }
grep -qx 'module standin' go.mod || { echo "publish-as: go.mod has a module path already" >&2; exit 1; }
git diff --quiet HEAD || { echo "publish-as: commit or stash your changes first" >&2; exit 1; }

# replace SCRIPT FILE...: edits files with sed. A plain loop works with every sed.
replace() {
	local script=$1 file
	shift
	for file; do
		sed -E "$script" "$file" >"$file.new"
		cmp -s "$file" "$file.new" || cat "$file.new" >"$file" # keeps the mode
		rm "$file.new"
	done
}

mapfile -t go < <(git ls-files '*.go')
mapfile -t modules < <(git ls-files '*go.mod')
mapfile -t texts < <(git ls-files '*.md' '*.yaml' '*.yml' '*.sh' '*_test.go' Makefile | grep -vx scripts/publish-as.sh)

replace "s#\"standin/(api|bench|client|cmd/|deploy|docs|internal/|scripts/)#\"$module/\\1#" "${go[@]}"
replace "s#^(module |replace |[[:space:]]+|require )standin(/| |\$)#\\1$module\\2#" "${modules[@]}"
replace "s#pkg: standin/#pkg: $module/#" .golangci.yml
replace "s#-local standin#-local $module#g" "${texts[@]}"
replace "s#registry\\.example/charts/standin#$chart#g; s#registry\\.example/standin#$image#g" "${texts[@]}"
if [ "${chart##*/}" != standin ]; then
	git mv deploy/helm/standin "deploy/helm/${chart##*/}"
	replace "s#^name: standin\$#name: ${chart##*/}#" "deploy/helm/${chart##*/}/Chart.yaml"
	mapfile -t texts < <(git ls-files '*.md' '*.yml' '*.sh' '*.go' | grep -vx scripts/publish-as.sh)
	replace "s#helm/standin([/\" ]|\$)#helm/${chart##*/}\\1#g" "${texts[@]}"
fi
gofmt -w "${go[@]}" # imports are sorted by their path
go mod tidy
echo "publish-as: $module, $image and $chart; run make check, and read docs/internals/publishing.md"
