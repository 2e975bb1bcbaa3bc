package guide

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"standin/docs"
)

// build renders the documentation.
func build(t *testing.T) *Site {
	t.Helper()
	site, err := New(docs.Files)
	if err != nil {
		t.Fatal(err)
	}
	return site
}

var (
	references = regexp.MustCompile(`(?:href|src)="([^"]*)"`)
	anchors    = regexp.MustCompile(` id="([^"]*)"`)
)

// TestLinks checks that every relative link, anchor and picture of the guide exists.
func TestLinks(t *testing.T) {
	t.Parallel()
	site := build(t)
	targets := make(map[string][]string)
	for name, content := range site.files {
		for _, match := range anchors.FindAllSubmatch(content, -1) {
			targets[name] = append(targets[name], string(match[1]))
		}
	}
	checked := 0
	for _, name := range slices.Sorted(maps.Keys(site.files)) {
		if filepath.Ext(name) != ".html" {
			continue
		}
		for _, match := range references.FindAllSubmatch(site.files[name], -1) {
			destination, err := url.Parse(strings.ReplaceAll(string(match[1]), "&amp;", "&"))
			switch {
			case err != nil:
				t.Errorf("%s: %v", name, err)
				continue
			case destination.IsAbs():
				if destination.Scheme != "https" && destination.Scheme != "http" {
					t.Errorf("%s links to %s", name, destination)
				}
				continue
			}
			checked++
			file := destination.Path
			if file == "" {
				file = name
			}
			if site.files[file] == nil {
				t.Errorf("%s links to %s, which does not exist", name, file)
			} else if destination.Fragment != "" && !slices.Contains(targets[file], destination.Fragment) {
				t.Errorf("%s links to %s, which has no heading %q", name, file, destination.Fragment)
			}
		}
	}
	if checked < 100 {
		t.Errorf("only %d links were checked", checked)
	}
}

// repositoryLink is a link of a page, as the repository shows it.
var repositoryLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// TestRepositoryLinks checks that the relative links of the pages, of deploy and of the files at
// the top of the repository lead to files.
func TestRepositoryLinks(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{"../../docs/*.md", "../../docs/internals/*.md", "../../*.md", "../../deploy/*.md"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, match := range repositoryLink.FindAllSubmatch(text, -1) {
				destination, err := url.Parse(string(match[1]))
				if err != nil || destination.IsAbs() || destination.Path == "" {
					continue
				}
				if _, err := os.Stat(filepath.Join(filepath.Dir(file), filepath.FromSlash(destination.Path))); err != nil {
					t.Errorf("%s links to %s: %v", file, destination.Path, err)
				}
			}
		}
	}
}

// TestContents checks that the table of contents lists every page once.
func TestContents(t *testing.T) {
	t.Parallel()
	site := build(t)
	listed := make(map[string]int)
	for _, section := range Sections() {
		for _, name := range section.Pages {
			listed[name]++
		}
	}
	for name, count := range listed {
		if count != 1 {
			t.Errorf("%s is listed %d times", name, count)
		}
	}
	for name := range site.files {
		page, isPage := strings.CutSuffix(name, ".html")
		if isPage && page != "index" && !strings.Contains(string(site.files["index.html"]), `href="`+name+`"`) {
			t.Errorf("the table of contents lacks %s", page)
		}
	}
}

// TestPages checks that pages have a title, no markup of Markdown, and no raw HTML.
func TestPages(t *testing.T) {
	t.Parallel()
	site := build(t)
	for name, content := range site.files {
		if filepath.Ext(name) != ".html" {
			continue
		}
		text := string(content)
		if !strings.Contains(text, "<h1 id=") || strings.Contains(text, "<title> –") {
			t.Errorf("%s has no title", name)
		}
		if strings.Contains(text, "raw HTML omitted") {
			t.Errorf("%s contains HTML, which is not rendered", name)
		}
	}
}

// TestPictures checks that the drawings are XML with a title and a description.
func TestPictures(t *testing.T) {
	t.Parallel()
	site := build(t)
	count := 0
	for name, content := range site.files {
		if filepath.Ext(name) != ".svg" {
			continue
		}
		count++
		decoder := xml.NewDecoder(strings.NewReader(string(content)))
		for {
			if _, err := decoder.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if text := string(content); !strings.Contains(text, "<title") || !strings.Contains(text, "<desc") {
			t.Errorf("%s has no title or no description", name)
		}
	}
	if count < 2 {
		t.Errorf("%d drawings", count)
	}
}

// TestIndex checks that the search finds every page, with anchors that exist.
func TestIndex(t *testing.T) {
	t.Parallel()
	site := build(t)
	var index []entry
	if err := json.Unmarshal(site.files["search.json"], &index); err != nil {
		t.Fatal(err)
	}
	found := make(map[string]bool)
	for _, one := range index {
		found[one.Page] = true
		if one.Title == "" || one.Heading == "" || !strings.Contains(string(site.files[one.Page]), `id="`+one.Anchor+`"`) {
			t.Errorf("the index has %+v", one)
		}
	}
	for name := range site.files {
		if filepath.Ext(name) == ".html" && name != "index.html" && !found[name] {
			t.Errorf("the index lacks %s", name)
		}
	}
}

// TestHandler checks what is served, and that other paths are left to the next handler.
func TestHandler(t *testing.T) {
	t.Parallel()
	handler := Handler(docs.Files, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	for _, c := range []struct {
		method, path string
		status       int
		contains     string
	}{
		{http.MethodGet, "/docs/guide", http.StatusMovedPermanently, ""},
		{http.MethodGet, "/docs/guide/", http.StatusOK, "Quick start"},
		{http.MethodGet, "/docs/guide/states.html", http.StatusOK, "Job statuses"},
		{http.MethodGet, "/docs/guide/search.json", http.StatusOK, `"anchor"`},
		{http.MethodGet, "/docs/guide/pictures/job.svg", http.StatusOK, "<svg"},
		{http.MethodGet, "/docs/guide/states.md", http.StatusOK, "# Job statuses"},
		{http.MethodGet, "/llms.txt", http.StatusOK, "(/docs/guide/webhooks.md)"},
		{http.MethodPost, "/llms.txt", http.StatusMethodNotAllowed, ""},
		{http.MethodGet, "/docs/guide/missing.html", http.StatusNotFound, ""},
		{http.MethodGet, "/docs/guide/../../etc/passwd", http.StatusNotFound, ""},
		{http.MethodPost, "/docs/guide/", http.StatusMethodNotAllowed, ""},
		{http.MethodGet, "/docs", http.StatusTeapot, ""},
		{http.MethodGet, "/docs/guided", http.StatusTeapot, ""},
	} {
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), c.method, c.path, nil))
		if recorder.Code != c.status || !strings.Contains(recorder.Body.String(), c.contains) {
			t.Errorf("%s %s: status %d, want %d with %q", c.method, c.path, recorder.Code, c.status, c.contains)
		}
		if c.status == http.StatusOK && (recorder.Header().Get("Content-Type") == "" || recorder.Header().Get("Content-Security-Policy") == "") {
			t.Errorf("%s: headers %v", c.path, recorder.Header())
		}
	}
}

// TestWrite checks that the files of the site are written.
func TestWrite(t *testing.T) {
	t.Parallel()
	site, dir := build(t), t.TempDir()
	if err := site.Write(dir); err != nil {
		t.Fatal(err)
	}
	for name, content := range site.files {
		written, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil || len(written) != len(content) {
			t.Errorf("%s: %d bytes, %v", name, len(written), err)
		}
	}
}
