package replica

import (
	"embed"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// pages has one folder for each platform, and the scripts that they share.
//
//go:embed pages
var pages embed.FS

// contentPolicy is as strict as those of the real pages: a script in the page can
// neither send data to other origins nor load other scripts.
const contentPolicy = "default-src 'self'; base-uri 'self'; object-src 'none'; frame-ancestors 'self'; " +
	"require-trusted-types-for 'script'"

// hostilePolicy allows a hostile page all connections, so that only the bot can block
// them.
const hostilePolicy = "default-src *; connect-src *; img-src *; frame-src *; style-src 'self'; script-src 'self'; base-uri 'self'"

func (s *Server) routePages(mux *http.ServeMux) {
	mux.HandleFunc("GET /{$}", serveFile("pages/home.html"))
	mux.HandleFunc("GET /favicon.ico", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("GET /practice/{code}", serveFile("pages/practice/index.html"))
	mux.HandleFunc("GET /recaptcha/anchor", serveFile("pages/recaptcha.html"))
	mux.HandleFunc("GET /assets/{file}", serveAsset)
	mux.HandleFunc("GET /assets/livekit-client.js", s.serveSFUClient)
	mux.HandleFunc("GET /assets/{platform}/{file}", serveAsset)

	// All forms of meeting URLs.
	mux.HandleFunc("GET /{code}", s.document(Meet, "pages/meet/index.html", ""))

	mux.HandleFunc("GET /meet/{code}", s.document(Teams, "pages/teams/index.html", "pages/teams/launcher.html"))
	mux.HandleFunc("GET /l/meetup-join/{rest...}", s.document(Teams, "pages/teams/index.html", "pages/teams/launcher.html"))
	mux.HandleFunc("GET /dl/launcher/launcher.html", s.document(Teams, "pages/teams/index.html", "pages/teams/launcher.html"))
	mux.HandleFunc("GET /light-meetings/launch", s.document(Teams, "pages/teams/index.html", ""))
	mux.HandleFunc("GET /v2/{$}", s.document(Teams, "pages/teams/index.html", ""))

	mux.HandleFunc("GET /j/{code}", s.document(Zoom, "pages/zoom/index.html", "pages/zoom/launcher.html"))
	mux.HandleFunc("GET /w/{code}", s.document(Zoom, "pages/zoom/index.html", "pages/zoom/launcher.html"))
	mux.HandleFunc("GET /my/{name}", s.document(Zoom, "pages/zoom/index.html", "pages/zoom/launcher.html"))
	mux.HandleFunc("GET /wc/{rest...}", s.document(Zoom, "pages/zoom/index.html", ""))
}

// document serves the page or the launcher of the meeting in the URL.
func (s *Server) document(platform Platform, page, launcher string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		m := s.meetingOf(platform, r.URL)
		if m != nil && m.settings.NeverLoads {
			<-r.Context().Done()
			return
		}
		file := page
		switch {
		case launcher != "" && (m == nil || !m.settings.NoLauncher):
			file = launcher
		case m != nil && m.settings.Framed && !r.URL.Query().Has("inner"):
			file = "pages/zoom/framed.html"
		}
		w.Header().Set("Content-Security-Policy", s.policy())
		serveFile(file)(w, r)
	}
}

// meetingOf returns the meeting whose code is anywhere in the URL, or nil. If several
// match, the longest code counts. The fragment of a URL is not sent, so the page
// searches for the code too.
func (s *Server) meetingOf(platform Platform, address *url.URL) *Meeting {
	text := address.RequestURI()
	for range 3 { // Teams URLs are percent-encoded up to three times
		if decoded, err := url.QueryUnescape(text); err == nil {
			text = decoded
		}
	}
	var found *Meeting
	for _, m := range s.opened() {
		if m.settings.Platform == platform && strings.Contains(text, m.settings.Code) &&
			(found == nil || len(m.settings.Code) > len(found.settings.Code)) {
			found = m
		}
	}
	return found
}

// policy returns hostilePolicy if there is a hostile meeting. Pages may connect to the SFUs of meetings.
func (s *Server) policy() string {
	policy := contentPolicy
	for _, m := range s.opened() {
		if m.settings.Hostile {
			return hostilePolicy
		}
		if sfu := m.settings.SFU; sfu != nil {
			policy = fmt.Sprintf("%s; connect-src 'self' %s %s", contentPolicy, sfu.URL, strings.Replace(sfu.URL, "ws", "http", 1))
		}
	}
	return policy
}

func serveAsset(w http.ResponseWriter, r *http.Request) {
	serveFile(strings.Replace(r.URL.Path, "/assets/", "pages/", 1))(w, r)
}

func serveFile(name string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if w.Header().Get("Content-Security-Policy") == "" {
			w.Header().Set("Content-Security-Policy", contentPolicy)
		}
		w.Header().Set("Cache-Control", "no-store")
		http.ServeFileFS(w, r, pages, name)
	}
}
