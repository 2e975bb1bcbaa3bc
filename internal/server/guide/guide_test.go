package guide

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode"

	"standin/api"
	"standin/docs"
	"standin/internal/jobs/job"
)

// rendered is the documentation that the tests share. They do not change it.
var rendered = sync.OnceValues(func() (*Site, error) {
	description, err := api.Load()
	if err != nil {
		return nil, err
	}
	return New(docs.Files, About{Version: "v1.2.3", Description: description.JSON()})
})

// build returns the rendered documentation.
func build(t *testing.T) *Site {
	t.Helper()
	site, err := rendered()
	if err != nil {
		t.Fatal(err)
	}
	return site
}

var references = regexp.MustCompile(`(?:href|src)="([^"]*)"`)

// TestLinks checks that every relative link, anchor and picture of the guide exists.
func TestLinks(t *testing.T) {
	t.Parallel()
	site := build(t)
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
			case destination.Path == "":
				destination.Path = path.Base(name)
			}
			file := path.Join(path.Dir(name), destination.Path)
			if strings.HasPrefix(file, "../") { // the dashboard and the API reference
				continue
			}
			checked++
			if problem := site.problem(file, destination.Fragment); problem != "" {
				t.Errorf("%s: %s", name, problem)
			}
		}
	}
	if checked < 1000 {
		t.Errorf("only %d links were checked", checked)
	}
}

// problem returns why a link to a file of the site leads nowhere, or "".
func (s *Site) problem(file, anchor string) string {
	if s.files[file] == nil {
		return file + " does not exist"
	}
	if anchor == "" || bytes.Contains(s.files[file], []byte(` id="`+anchor+`"`)) {
		return ""
	}
	return file + " has no heading " + anchor
}

// guideLink is a link into the guide in a source.
var guideLink = regexp.MustCompile(`/docs/guide/([a-z/-]+\.(?:html|md))(?:#([a-z0-9_-]+))?`)

// TestLinksToGuide checks that the links into the guide exist: of the program's messages, the
// dashboard, the API description and the alerts.
func TestLinksToGuide(t *testing.T) {
	t.Parallel()
	site := build(t)
	checked := 0
	for _, dir := range []string{"../../../cmd", "../../../internal", "../../../api", "../../../deploy"} {
		err := filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || strings.HasPrefix(file, "../../../internal/server/guide") {
				return err
			}
			switch filepath.Ext(file) {
			case ".go", ".html", ".yaml", ".txt":
			default:
				return nil
			}
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			for _, match := range guideLink.FindAllSubmatch(text, -1) {
				checked++
				if problem := site.problem(string(match[1]), string(match[2])); problem != "" {
					t.Errorf("%s: %s", file, problem)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if checked < 15 {
		t.Errorf("only %d links were checked", checked)
	}
	for _, code := range job.FailureCodes() { // docUrl of the details of failed jobs
		if problem := site.problem("runbook.html", strings.ReplaceAll(string(code), "_", "-")); problem != "" {
			t.Error(problem)
		}
	}
}

// repositoryLink is a link of a page, as the repository shows it.
var repositoryLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// TestRepositoryLinks checks that the relative links of the pages, of deploy and of the files at
// the top of the repository lead to files.
func TestRepositoryLinks(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{
		"../../../docs/*.md", "../../../docs/reference/*.md", "../../../docs/tutorials/*.md", "../../../docs/internals/*.md", "../../../*.md",
		"../../../deploy/*.md",
	} {
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
	listed := make(map[string]int)
	for _, section := range Sections() {
		for _, name := range section.Pages {
			listed[name+".md"]++
		}
	}
	var pages []string
	for _, pattern := range []string{"*.md", "reference/*.md", "tutorials/*.md"} {
		found, err := fs.Glob(docs.Files, pattern)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, found...)
	}
	for _, page := range pages {
		if listed[page] != 1 {
			t.Errorf("%s is listed %d times", page, listed[page])
		}
	}
}

// The most words of the pages for users and for contributors, without code. The pages in
// docs/reference do not count: the program writes them.
const mostUserWords, mostInternalWords = 18000, 12000

var codeFence = regexp.MustCompile("(?ms)^ *```.*?^ *```$")

// TestWords checks that the guide stays short enough to be read.
func TestWords(t *testing.T) {
	t.Parallel()
	for most, patterns := range map[int][]string{
		mostUserWords:     {"../../../docs/*.md", "../../../docs/tutorials/*.md"},
		mostInternalWords: {"../../../docs/internals/*.md"},
	} {
		sum := 0
		for _, pattern := range patterns {
			files, err := filepath.Glob(pattern)
			if err != nil || len(files) == 0 {
				t.Fatalf("%s: %d files, %v", pattern, len(files), err)
			}
			for _, file := range files {
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				written := codeFence.ReplaceAllString(string(text), "")
				words := 0
				for word := range strings.FieldsSeq(written) {
					if strings.ContainsFunc(word, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
						words++
					}
				}
				t.Logf("%5d %s", words, strings.TrimPrefix(file, "../../../docs/"))
				sum += words
			}
		}
		t.Logf("%5d in all", sum)
		if sum > most {
			t.Errorf("%v have %d words, more than %d", patterns, sum, most)
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
		if !strings.Contains(text, "<h1 id=") || strings.Contains(text, "<title> ·") {
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
		if path.Dir(name) != "pictures" {
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
	found, kinds := make(map[string]bool), make(map[string]int)
	for _, one := range index {
		found[one.Page] = true
		kinds[one.Kind]++
		if one.Title == "" || one.Heading == "" || one.Kind != "API" && site.problem(one.Page, one.Anchor) != "" {
			t.Errorf("the index has %+v", one)
		}
	}
	for name := range site.files {
		if filepath.Ext(name) == ".html" && !found[name] {
			t.Errorf("the index lacks %s", name)
		}
	}
	if kinds["API"] < 40 || kinds["Command"] < 60 {
		t.Errorf("the index has %v", kinds)
	}
}

// TestHandler checks what is served, and that other paths are left to the next handler.
func TestHandler(t *testing.T) {
	t.Parallel()
	handler := Handler(docs.Files, About{}, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusTeapot)
	}))
	for _, c := range []struct {
		method, path string
		status       int
		contains     string
	}{
		{http.MethodGet, "/docs/guide", http.StatusMovedPermanently, ""},
		{http.MethodGet, "/docs/guide/", http.StatusOK, "Quick start"},
		{http.MethodGet, "/docs/guide/how-it-works.html", http.StatusOK, "How it works"},
		{http.MethodGet, "/docs/guide/tutorials/kubernetes.html", http.StatusOK, `href="../guide.css"`},
		{http.MethodGet, "/docs/guide/install", http.StatusMovedPermanently, "/docs/guide/install.html"},
		{http.MethodGet, "/docs/guide/search.json", http.StatusOK, `"anchor"`},
		{http.MethodGet, "/docs/guide/pictures/states.svg", http.StatusOK, "<svg"},
		{http.MethodGet, "/docs/guide/jobs.md", http.StatusOK, "# Send a bot"},
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

// TestPublic checks the files of a public site: its pages and the lists of them.
func TestPublic(t *testing.T) {
	t.Parallel()
	site := build(t)
	files := site.Public("https://docs.example.com/")
	for name, content := range site.files {
		if !bytes.Equal(files["docs/guide/"+name], content) {
			t.Errorf("%s: %d bytes", name, len(files["docs/guide/"+name]))
		}
	}
	for name, want := range map[string]string{
		"sitemap.txt": "\nhttps://docs.example.com/docs/guide/tutorials/from-recall.html\n",
		"llms.txt":    "(/docs/guide/webhooks.md)",
		"robots.txt":  "https://docs.example.com/sitemap.txt",
		"index.html":  "docs/guide/index.html",
	} {
		if !bytes.Contains(files[name], []byte(want)) {
			t.Errorf("%s lacks %s: %s", name, want, files[name])
		}
	}
}

// TestDecorate checks that code in several languages becomes tabs, and that one block does not.
func TestDecorate(t *testing.T) {
	t.Parallel()
	page, err := render("page",
		[]byte("# Title\n\n```sh\nx < 1\n```\n\n<!-- a -->\n```python\ny\n```\n\ntext\n\n```sh\nz\n```\n\n| a |\n|---|\n| b |\n"), docs.Files)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]int{
		`class="tabs"`: 1, `class="code"`: 3, `data-language="Python"`: 1, "x &lt; 1": 1, `class="table"`: 1, "</table></div>": 1,
	} {
		if count := strings.Count(string(page.body), text); count != want {
			t.Errorf("%q is %d times in %s", text, count, page.body)
		}
	}
}
