// Package reference serves the API description as a page for each subject. Redoc renders
// it in the browser; the page loads nothing from other hosts.
//
// Redoc is vendored in assets. scripts/vendor-redoc.sh replaces it with another
// version.
package reference

import (
	"embed"
	"maps"
	"mime"
	"path"
	"slices"

	"standin/internal/server/guide"
)

// Policy is the Content-Security-Policy of the page. Redoc adds style elements: an
// empty one, whose rules it then inserts, and a constant one.
const Policy = "default-src 'none'; script-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"style-src 'self' 'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=' 'sha256-QMIg+bpjm3JdElJ388KYke01izlUW0UoNOeKjpMxdgc='; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Page is the HTML of the page.
//
//go:embed assets/index.html
var Page []byte

//go:embed assets
var files embed.FS

// Assets returns the names of the files that the page loads.
func Assets() []string {
	entries, err := files.ReadDir("assets")
	if err != nil {
		panic(err) // the directory is embedded
	}
	names := slices.Sorted(maps.Keys(guide.Shared()))
	for _, entry := range entries {
		if entry.Name() != "index.html" {
			names = append(names, entry.Name())
		}
	}
	return names
}

// Asset returns a file that the page loads and its media type; false if there is none.
func Asset(name string) (content []byte, mediaType string, ok bool) {
	if shared, isShared := guide.Shared()[name]; isShared {
		return shared, mime.TypeByExtension(path.Ext(name)), true
	}
	content, err := files.ReadFile("assets/" + name)
	return content, mime.TypeByExtension(path.Ext(name)), err == nil
}
