// Package guide renders the documentation in docs/ as static pages with a search, which
// need no network.
package guide

import (
	"bytes"
	_ "embed" // for the template, the style and the script
	"encoding/json"
	"fmt"
	"html/template"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

//go:embed page.html
var pageHTML string

//go:embed guide.css
var styleCSS []byte

//go:embed search.js
var searchJS []byte

// Path is where a service serves the guide.
const Path = "/docs/guide/"

// listPath is where a service serves the list of the pages for language models
// (llmstxt.org).
const listPath = "/llms.txt"

// Section is a group of pages in the table of contents.
type Section struct {
	Title string
	Pages []string // names of the files without .md
}

// Sections returns the table of contents.
func Sections() []Section {
	return []Section{
		{"Start", []string{"quickstart", "install", "concepts", "glossary"}},
		{"Use", []string{"api", "states", "webhooks", "recordings", "transcripts", "streams", "calendars", "mail", "dashboard", "cli", "mcp", "generators", "simulator", "migrating"}},
		{"Meetings", []string{"platforms", "signed-in", "zoom-sdk", "doctor", "canary", "privacy"}},
		{"Operate", []string{"configuration", "operations", "launchers", "logging", "runbook", "performance", "security"}},
	}
}

// Site is the rendered guide: its files by name.
type Site struct {
	files map[string][]byte
	list  []byte // for language models
}

// page is the data of the template.
type page struct {
	Title    string
	Name     string
	Body     template.HTML
	Sections []navigation
}

// navigation is a section in the table of contents.
type navigation struct {
	Title string
	Pages []link
}

type link struct{ Name, Title string }

// New renders the pages of a file system. Pages that Sections does not list are added
// to the table of contents, in a section of their own.
func New(source fs.FS) (*Site, error) {
	layout, err := template.New("page").Parse(pageHTML)
	if err != nil {
		return nil, fmt.Errorf("parse the page: %w", err)
	}
	names, err := fs.Glob(source, "*.md")
	if err != nil {
		return nil, err
	}
	site := &Site{files: map[string][]byte{"guide.css": styleCSS, "search.js": searchJS}}
	if err := site.addPictures(source); err != nil {
		return nil, err
	}
	pages := make(map[string]document)
	var index []entry
	for _, file := range names {
		name := strings.TrimSuffix(file, ".md")
		text, err := fs.ReadFile(source, file)
		if err != nil {
			return nil, err
		}
		rendered, err := render(text, func(name string) bool { return site.files[name] != nil })
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		pages[name] = rendered
		site.files[file] = text
		for _, part := range rendered.parts {
			index = append(index, entry{Page: name + ".html", Title: rendered.title, part: part})
		}
	}
	contents := tableOfContents(pages)
	for name, one := range pages {
		var out bytes.Buffer
		if err := layout.Execute(&out, page{Title: one.title, Name: name, Body: one.body, Sections: contents}); err != nil {
			return nil, fmt.Errorf("render %s: %w", name, err)
		}
		site.files[name+".html"] = out.Bytes()
	}
	site.list = listPages(contents)
	site.files["index.html"] = site.files["quickstart.html"]
	site.files["search.json"], err = json.Marshal(index)
	return site, err
}

// listPages returns the table of contents as Markdown, with links to the pages as
// Markdown.
func listPages(contents []navigation) []byte {
	var out bytes.Buffer
	out.WriteString("# Standin\n\n> A service that sends a bot into an online meeting and returns a recording with a manifest. " +
		"Google Meet, Microsoft Teams and Zoom, one HTTP API.\n\n" +
		"The API is described in OpenAPI 3.1 at [/openapi.json](/openapi.json) and [/openapi.yaml](/openapi.yaml).\n")
	for _, section := range contents {
		fmt.Fprintf(&out, "\n## %s\n\n", section.Title)
		for _, page := range section.Pages {
			fmt.Fprintf(&out, "- [%s](%s%s.md)\n", page.Title, Path, strings.TrimSuffix(page.Name, ".html"))
		}
	}
	return out.Bytes()
}

// addPictures adds the drawings.
func (s *Site) addPictures(source fs.FS) error {
	names, err := fs.Glob(source, "pictures/*.svg")
	if err != nil {
		return err
	}
	for _, name := range names {
		if s.files[name], err = fs.ReadFile(source, name); err != nil {
			return err
		}
	}
	return nil
}

// tableOfContents returns the sections with the pages that exist.
func tableOfContents(pages map[string]document) []navigation {
	listed := make(map[string]bool)
	var contents []navigation
	add := func(title string, names []string) {
		section := navigation{Title: title}
		for _, name := range names {
			if one, exists := pages[name]; exists {
				listed[name] = true
				section.Pages = append(section.Pages, link{Name: name + ".html", Title: one.title})
			}
		}
		if len(section.Pages) > 0 {
			contents = append(contents, section)
		}
	}
	for _, section := range Sections() {
		add(section.Title, section.Pages)
	}
	add("More", slices.DeleteFunc(slices.Sorted(maps.Keys(pages)), func(name string) bool { return listed[name] }))
	return contents
}

// Write writes the site to a directory.
func (s *Site) Write(dir string) error {
	for name, content := range s.files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil { // #nosec G301 -- a public site
			return err
		}
		if err := os.WriteFile(file, content, 0o644); err != nil { // #nosec G306 -- a public site
			return err
		}
	}
	return nil
}

// policy allows only the guide's own files.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// types are the content types by extension.
var types = map[string]string{
	".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
	".json": "application/json", ".svg": "image/svg+xml", ".md": "text/markdown; charset=utf-8",
}

// Handler serves the guide below Path and its list of pages at /llms.txt, rendered at the first
// request, and everything else by next.
func Handler(source fs.FS, next http.Handler) http.Handler {
	site := sync.OnceValues(func() (*Site, error) { return New(source) })
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, below := strings.CutPrefix(r.URL.Path, Path)
		list := r.URL.Path == listPath
		if !below && !list && r.URL.Path != strings.TrimSuffix(Path, "/") {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Content-Security-Policy", policy)
		switch rendered, err := site(); {
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		case !below && !list:
			http.Redirect(w, r, Path, http.StatusMovedPermanently)
		case err != nil:
			http.Error(w, "the guide cannot be rendered", http.StatusInternalServerError)
		case list:
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			_, _ = w.Write(rendered.list) // the client may be gone; HEAD discards it
		default:
			rendered.serve(w, r, name)
		}
	})
}

// serve serves a file of the site.
func (s *Site) serve(w http.ResponseWriter, r *http.Request, name string) {
	if name == "" {
		name = "index.html"
	}
	content, exists := s.files[name]
	if !exists {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", types[path.Ext(name)])
	w.Header().Set("Cache-Control", "max-age=300")
	_, _ = w.Write(content) // the client may be gone; HEAD discards it
}
