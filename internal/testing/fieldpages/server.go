package fieldpages

import (
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"standin/internal/jobs/job"
)

//go:embed pages texts.json
var files embed.FS

// texts holds the variants of each text, by page, key and language.
var texts = sync.OnceValue(func() map[string]map[string]map[string][]string {
	data, err := files.ReadFile("texts.json")
	if err != nil {
		panic(err)
	}
	var texts map[string]map[string]map[string][]string
	if err := json.Unmarshal(data, &texts); err != nil {
		panic(err)
	}
	return texts
})

// words returns the variants of a text in a language.
func words(page, key, language string) []string {
	variants := texts()[page][key]
	if known := variants[language]; len(known) > 0 {
		return known
	}
	return variants["en"] // pages are not translated completely
}

// Entry is an entry of a meeting's log: what the page really did.
type Entry struct {
	At     time.Time
	Kind   string
	Detail string
}

// Meeting serves one generated meeting.
type Meeting struct {
	Plan Plan

	server, accounts *httptest.Server

	mutex   sync.Mutex
	log     []Entry
	signals map[string]bool
	changed chan struct{} // closed and replaced at each change
}

// Open serves a meeting until it is closed.
func Open(plan Plan) *Meeting {
	m := &Meeting{Plan: plan, signals: make(map[string]bool), changed: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /field/log", m.serveLog)
	mux.HandleFunc("GET /field/wait", m.serveWait)
	mux.Handle("GET /pages/", http.FileServerFS(files))
	mux.HandleFunc("GET /recaptcha/", serveCaptchaFrame)
	mux.HandleFunc("GET /captcha.svg", serveCaptchaImage)
	mux.HandleFunc("GET /favicon.ico", http.NotFound)
	mux.HandleFunc("GET /", m.serveDocument)
	m.server, m.accounts = httptest.NewServer(mux), httptest.NewServer(mux)
	m.Plan.Accounts = strings.TrimPrefix(m.accounts.URL, "http://")
	return m
}

// Close stops serving the meeting.
func (m *Meeting) Close() {
	for _, server := range []*httptest.Server{m.server, m.accounts} {
		server.CloseClientConnections()
		server.Close()
	}
}

// URL returns the address that the bot is sent to.
func (m *Meeting) URL() string {
	switch m.Plan.Platform {
	case job.Meet:
		return m.server.URL + "/" + m.code()
	case job.Teams:
		if m.Plan.Seed%4 == 0 {
			return m.server.URL + "/l/meetup-join/19%3ameeting_" + m.Plan.Passcode +
				"%40thread.v2/0?context=%7b%22Tid%22%3a%22a%22%2c%22Oid%22%3a%22b%22%7d"
		}
		return fmt.Sprintf("%s/meet/%s?p=%s", m.server.URL, m.Plan.Number, m.Plan.Passcode)
	}
	if m.Plan.Launcher {
		return fmt.Sprintf("%s/j/%s?pwd=%s", m.server.URL, m.Plan.Number, m.Plan.Passcode)
	}
	return fmt.Sprintf("%s/wc/%s/join?pwd=%s", m.server.URL, m.Plan.Number, m.Plan.Passcode)
}

// code returns the meeting's code on Meet.
func (m *Meeting) code() string {
	letters := make([]byte, 10)
	for i, n := 0, uint64(m.Plan.Seed)*2_654_435_761; i < len(letters); i, n = i+1, n/26 {
		letters[i] = byte('a' + n%26)
	}
	return fmt.Sprintf("%s-%s-%s", letters[:3], letters[3:7], letters[7:])
}

// Hosts returns the hosts, with ports, that the meeting's pages use.
func (m *Meeting) Hosts() []string {
	return []string{strings.TrimPrefix(m.server.URL, "http://"), m.Plan.Accounts}
}

// Log returns the log so far.
func (m *Meeting) Log() []Entry {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return slices.Clone(m.log)
}

// Signal tells the page what the bot has reported. Pages wait for some reports, so
// that a meeting is as short as the machine allows.
func (m *Meeting) Signal(name string) { m.update(func() { m.signals[name] = true }) }

func (m *Meeting) update(change func()) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	change()
	close(m.changed)
	m.changed = make(chan struct{})
}

func (m *Meeting) write(kind, detail string) {
	m.update(func() { m.log = append(m.log, Entry{At: time.Now(), Kind: kind, Detail: detail}) })
}

func (m *Meeting) serveLog(w http.ResponseWriter, r *http.Request) {
	var entry struct{ Kind, Detail string }
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16)).Decode(&entry); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	m.write(entry.Kind, entry.Detail)
	w.WriteHeader(http.StatusNoContent)
}

// serveWait answers when the bot has reported the signal, or after the time given.
func (m *Meeting) serveWait(w http.ResponseWriter, r *http.Request) {
	milliseconds, _ := strconv.Atoi(r.URL.Query().Get("ms"))
	timer := time.NewTimer(time.Duration(milliseconds) * time.Millisecond)
	defer timer.Stop()
	for {
		m.mutex.Lock()
		ready, changed := m.signals[r.URL.Query().Get("signal")], m.changed
		m.mutex.Unlock()
		if ready {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		select {
		case <-changed:
		case <-timer.C:
			w.WriteHeader(http.StatusNoContent)
			return
		case <-r.Context().Done():
			return
		}
	}
}

// document is the shell of every page; scripts fill it.
var document = template.Must(template.New("document").Parse(`<!doctype html>
<html lang="{{.Language}}" dir="{{.Direction}}"><head><meta charset="utf-8"><title></title>
<style>body{margin:0;font:15px sans-serif;min-height:100vh}</style></head><body>
<script>window.field = {{.Field}};</script><script src="/pages/core.js"></script><script src="/pages/{{.Page}}.js"></script></body></html>
`))

// field is what a page's script knows.
type field struct {
	Plan  Plan                `json:"plan"`
	Seen  map[string]int      `json:"seen"` // entries of the log so far, by kind
	Words map[string][]string `json:"words"`
}

func (m *Meeting) serveDocument(w http.ResponseWriter, r *http.Request) {
	seen := make(map[string]int)
	for _, entry := range m.Log() {
		seen[entry.Kind]++
	}
	switch {
	case m.Plan.Scenario == "refused":
		m.write("over", "refused")
		status := []int{http.StatusForbidden, http.StatusTooManyRequests}[m.Plan.Seed%2]
		http.Error(w, fmt.Sprintf("%d. That's an error. %s", status, http.StatusText(status)), status)
		return
	case m.Plan.Scenario == "workspace" && !visitedBefore(w, r):
		m.write("over", "workspace")
		const home = "https://workspace.google.com/products/meet/"
		if m.Plan.Seed%2 == 0 {
			http.Redirect(w, r, home, http.StatusFound)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, "<!doctype html><title>Meet</title><script>setTimeout(() => location.replace(%q), 300)</script>", home)
		return
	}
	page := map[job.Platform]string{job.Meet: "meet", job.Teams: "teams", job.ZoomWeb: "zoom"}[m.Plan.Platform]
	local := make(map[string][]string)
	for key := range texts()[page] {
		local[key] = words(page, key, m.Plan.Language)
	}
	direction := "ltr"
	if m.Plan.Language == "ar" {
		direction = "rtl"
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	_ = document.Execute(w, map[string]any{ // the browser may be gone
		"Language": m.Plan.Language, "Direction": direction, "Page": page,
		"Field": field{Plan: m.Plan, Seen: seen, Words: local},
	})
}

// visitedBefore reports whether the browser was here before, as its cookie says: only
// the first visit of a browser is sent to the product page.
func visitedBefore(w http.ResponseWriter, r *http.Request) bool {
	_, err := r.Cookie("visited")
	w.Header().Set("Set-Cookie", "visited=1; Path=/; HttpOnly; SameSite=Lax")
	return err == nil
}

func serveCaptchaFrame(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprint(w, `<!doctype html><title>reCAPTCHA</title><label><input type="checkbox"> I'm not a robot</label>`)
}

func serveCaptchaImage(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "image/svg+xml")
	fmt.Fprint(w, `<svg xmlns="http://www.w3.org/2000/svg" width="240" height="80"><text x="20" y="50" font-size="40">7Kq2x</text></svg>`)
}
