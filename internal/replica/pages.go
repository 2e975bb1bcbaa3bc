package replica

import (
	"embed"
	"html/template"
	"net/http"
)

// Each platform's page is a folder of pages/; stage.js, which all share, talks
// to the server.
//
//go:embed pages
var pages embed.FS

// contentPolicy is strict, as the real pages' is: from within the page a recorder
// cannot send what it captured elsewhere, and cannot add scripts to it.
const contentPolicy = "default-src 'self'; base-uri 'self'; object-src 'none'; frame-ancestors 'self'; " +
	"require-trusted-types-for 'script'"

func (s *Server) routePages(mux *http.ServeMux) {
	mux.HandleFunc("GET /{$}", s.home)
	mux.HandleFunc("GET /{code}", serveFile("pages/meet/index.html"))
	mux.HandleFunc("GET /favicon.ico", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("GET /recaptcha/anchor", serveFile("pages/recaptcha.html"))
	for path, file := range map[string]string{
		"GET /assets/stage.js":       "pages/stage.js",
		"GET /assets/meet/meet.js":   "pages/meet/meet.js",
		"GET /assets/meet/words.js":  "pages/meet/words.js",
		"GET /assets/meet/tiles.js":  "pages/meet/tiles.js",
		"GET /assets/meet/panels.js": "pages/meet/panels.js",
		"GET /assets/meet/meet.css":  "pages/meet/meet.css",
	} {
		mux.HandleFunc(path, serveFile(file))
	}
}

func serveFile(name string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", contentPolicy)
		w.Header().Set("Cache-Control", "no-store")
		http.ServeFileFS(w, r, pages, name)
	}
}

// home lists the meetings, for people; Meet's "Return to home" leads here.
func (s *Server) home(w http.ResponseWriter, _ *http.Request) {
	page, err := template.ParseFS(pages, "pages/home.html")
	if err != nil {
		s.log.Error("the home page cannot be read", "error", err)
		fail(w, http.StatusInternalServerError, "the home page cannot be read")
		return
	}
	reports := []Report{}
	for _, m := range s.Meetings() {
		reports = append(reports, m.Report())
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if err := page.Execute(w, reports); err != nil {
		s.log.Debug("the home page was not sent whole", "error", err)
	}
}
