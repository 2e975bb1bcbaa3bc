// Package guide renders the documentation in docs/ as static pages with a search, which
// need no network.
package guide

import (
	"bytes"
	"cmp"
	_ "embed" // for the template, the style, the scripts and the icon
	"encoding/json"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"

	"standin/internal/base/brand"
)

//go:embed page.html
var pageHTML string

//go:embed guide.css
var styleCSS []byte

//go:embed shell.css
var shellCSS []byte

//go:embed guide.js
var scriptJS []byte

// Shared returns the files that the API reference has in common with the guide: those of all
// pages, and the style and script of the header and the search.
func Shared() map[string][]byte {
	files := brand.Files()
	files["shell.css"], files["guide.js"] = shellCSS, scriptJS
	return files
}

// Path is where a service serves the guide.
const Path = "/docs/guide/"

// listPath is where a service serves the list of the pages for language models
// (llmstxt.org).
const listPath = "/llms.txt"

// home is the page that the guide begins with.
const home = "index"

// Section is a group of pages in the table of contents.
type Section struct {
	Title string
	Pages []string // names of the files without .md
}

// Sections returns the table of contents.
func Sections() []Section {
	return []Section{
		{"Get started", []string{home, "quickstart", "practice", "how-it-works", "test-mode", "troubleshooting"}},
		{"Tutorials", []string{
			"tutorials/first-recording", "tutorials/receive-webhooks", "tutorials/record-calendar", "tutorials/transcript-to-slack",
			"tutorials/voice-agent", "tutorials/agent-mcp", "tutorials/one-server", "tutorials/kubernetes", "tutorials/from-recall",
			"tutorials/from-attendee",
		}},
		{"Send bots", []string{"jobs", "api", "dashboard", "mcp", "platforms", "signed-in", "zoom", "privacy"}},
		{"Recordings and transcripts", []string{"recordings", "captions", "transcripts", "real-time", "speak"}},
		{"Webhooks and calendars", []string{"webhooks", "calendars", "mail"}},
		{"Operate", []string{
			"install", "sizing", "scale-out", "storage", "backup", "upgrade", "monitor", "diagnose", "runbook", "security",
		}},
		{"Reference", []string{
			"configuration", "reference/configuration", "commands", "reference/commands", "reference/events", "reference/samples", "reference/doors", "reference/outcomes", "compatibility",
			"glossary",
		}},
	}
}

// About is what the pages say beyond the documents.
type About struct {
	Version string
	// Description is the API description as JSON, whose operations the search finds.
	Description []byte
	// Static is true for pages that no service serves: they have no link to the dashboard.
	Static bool
}

// Site is the rendered guide: its files by name.
type Site struct {
	files map[string][]byte
	pages []string // names in the order of the table of contents
	list  []byte   // for language models
}

// page is the data of the template.
type page struct {
	About
	Title          string
	Root           string // path from the page to the guide: "" or "../"
	Name           string
	Body           template.HTML
	Headings       []part // on this page
	Sections       []navigation
	Previous, Next *link
}

// navigation is a section in the table of contents.
type navigation struct {
	Title string
	Pages []link
}

type link struct{ Name, Title string }

// New renders the pages of a file system.
func New(source fs.FS, about About) (*Site, error) {
	layout, err := template.New("page").Parse(pageHTML)
	if err != nil {
		return nil, fmt.Errorf("parse the page: %w", err)
	}
	site := &Site{files: Shared()}
	site.files["guide.css"] = styleCSS
	pictures, err := fs.Glob(source, "pictures/*.svg")
	if err != nil {
		return nil, err
	}
	for _, name := range pictures {
		if site.files[name], err = fs.ReadFile(source, name); err != nil {
			return nil, err
		}
	}
	documents := make(map[string]document)
	var contents []navigation
	for _, section := range Sections() {
		shown := navigation{Title: section.Title}
		for _, name := range section.Pages {
			text, err := fs.ReadFile(source, name+".md")
			if err != nil {
				return nil, err
			}
			if documents[name], err = render(name, text, source); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			site.files[name+".md"] = text
			site.pages = append(site.pages, name)
			shown.Pages = append(shown.Pages, link{Name: name + ".html", Title: documents[name].title})
		}
		contents = append(contents, shown)
	}
	for i, name := range site.pages {
		one := documents[name]
		shown := page{
			About: about, Title: one.title, Root: strings.Repeat("../", strings.Count(name, "/")), Name: name + ".html",
			Body: one.body, Headings: one.headings(), Sections: contents,
		}
		if i > 0 {
			shown.Previous = &link{site.pages[i-1] + ".html", documents[site.pages[i-1]].title}
		}
		if i+1 < len(site.pages) {
			shown.Next = &link{site.pages[i+1] + ".html", documents[site.pages[i+1]].title}
		}
		var out bytes.Buffer
		if err := layout.Execute(&out, shown); err != nil {
			return nil, fmt.Errorf("render %s: %w", name, err)
		}
		site.files[name+".html"] = out.Bytes()
	}
	site.list = listPages(contents)
	index, err := site.index(documents, about.Description)
	if err != nil {
		return nil, err
	}
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

// Public returns the files of the site as a service serves it, by their paths: the pages below Path, and the lists of pages at
// the top. The sitemap names the pages below the URL base.
func (s *Site) Public(base string) map[string][]byte {
	base = strings.TrimRight(base, "/")
	var urls []byte // a sitemap for search engines (sitemaps.org)
	for _, name := range s.pages {
		urls = append(urls, base+Path+name+".html\n"...)
	}
	files := map[string][]byte{
		"sitemap.txt": urls,
		listPath[1:]:  s.list,
		"index.html": []byte(`<!doctype html><meta charset="utf-8"><title>Standin</title><meta http-equiv="refresh" content="0; url=` +
			Path[1:] + home + `.html">`),
		"robots.txt": []byte("Sitemap: " + base + "/sitemap.txt\n"),
	}
	for name, content := range s.files {
		files[Path[1:]+name] = content
	}
	return files
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
func Handler(source fs.FS, about About, next http.Handler) http.Handler {
	site := sync.OnceValues(func() (*Site, error) { return New(source, about) })
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
			name = cmp.Or(name, home+".html")
			content, exists := rendered.files[name]
			switch {
			case slices.Contains(rendered.pages, name): // its path lacks the extension
				http.Redirect(w, r, Path+name+".html", http.StatusMovedPermanently) // #nosec G710 -- the name of a page
			case !exists:
				http.NotFound(w, r)
			default:
				w.Header().Set("Content-Type", types[path.Ext(name)])
				w.Header().Set("Cache-Control", "max-age=300")
				_, _ = w.Write(content) // the client may be gone; HEAD discards it
			}
		}
	})
}
