package zoomsdk

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

const (
	// readTimeout bounds one request over the loopback interface.
	readTimeout = 30 * time.Second
	// largestRequest bounds what the page says, which is nothing.
	largestRequest = 1 << 10
	// closeTime is how long requests may take to end when the server closes.
	closeTime = 5 * time.Second
)

// Paths of the server. The page's own is secret, because it gives out what a
// meeting is joined with; the others hold nothing but files.
const (
	joinPath  = "/join/" // and the secret
	filesPath = "/sdk/"  // the operator's files
	partsPath = "/page/" // what the page is made of
	leftPath  = "/left"  // where the SDK goes after the meeting
)

// ticket is what the page joins a meeting with.
type ticket struct {
	MeetingNumber string `json:"meetingNumber"`
	Passcode      string `json:"passcode"`
	Token         string `json:"token"` // of a registrant
	Signature     string `json:"signature"`
}

// server serves the page and the SDK's files to the bot's browser, and to
// nobody else.
type server struct {
	library  *library
	issue    func() (ticket, error) // makes a ticket for the meeting
	service  func() string          // Zoom's service, when it is not the usual one
	secret   string
	listener net.Listener
	http     *http.Server
	serving  sync.WaitGroup
	log      *slog.Logger
}

// serve opens the server on a free port of the loopback interface.
func serve(ctx context.Context, lib *library, issue func() (ticket, error), service func() string, log *slog.Logger) (*server, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for the page of Zoom's Meeting SDK: %w", err)
	}
	s := &server{library: lib, issue: issue, service: service, secret: rand.Text(), listener: listener, log: log}
	s.http = &http.Server{
		Handler: s.routes(), ReadTimeout: readTimeout, ReadHeaderTimeout: readTimeout,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	s.serving.Go(func() {
		if err := s.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			log.Error("the page of Zoom's Meeting SDK is no longer served", "error", err)
		}
	})
	return s, nil
}

// close ends the server and gives the SDK's folder up.
func (s *server) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	err := s.http.Shutdown(ctx)
	if err != nil {
		err = s.http.Close()
	}
	s.serving.Wait()
	return errors.Join(err, s.library.Close())
}

// origin is the scheme, host and port of all that is served.
func (s *server) origin() string { return "http://" + s.listener.Addr().String() }

// address is the page's.
func (s *server) address() string { return s.origin() + joinPath + s.secret + "/" }

// routes are what the page asks for.
func (s *server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+joinPath+"{secret}/{$}", s.onlyBySecret(s.givePage))
	mux.HandleFunc("POST "+joinPath+"{secret}/ticket", s.onlyBySecret(s.giveTicket))
	mux.HandleFunc("GET "+leftPath, func(w http.ResponseWriter, _ *http.Request) { giveDocument(w, leftDocument()) })
	mux.Handle("GET "+partsPath, http.StripPrefix(partsPath, onlyFiles(http.FileServerFS(pageParts()))))
	if files, err := fs.Sub(s.library.root.FS(), distDir); err == nil { // fails for a name that is no path
		mux.Handle("GET "+filesPath, http.StripPrefix(filesPath, onlyFiles(http.FileServerFS(files))))
	}
	return s.onlyBrowser(mux)
}

// onlyBrowser refuses requests that a page of another origin, or a name that
// resolves to this machine, may have caused, and sets what every answer needs.
func (s *server) onlyBrowser(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		setPolicy(w.Header())
		foreign := r.Method != http.MethodGet && r.Header.Get("Origin") != s.origin()
		if r.Host != s.listener.Addr().String() || foreign {
			http.Error(w, "forbidden", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// onlyBySecret refuses paths that do not begin with the secret.
func (s *server) onlyBySecret(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.PathValue("secret")), []byte(s.secret)) != 1 {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Cache-Control", "no-store")
		next(w, r)
	}
}

// onlyFiles keeps folders from being listed.
func onlyFiles(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "" || strings.HasSuffix(r.URL.Path, "/") {
			http.NotFound(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// givePage answers with the page.
func (s *server) givePage(w http.ResponseWriter, _ *http.Request) {
	document, err := joinDocument(s.library, s.service())
	if err != nil {
		s.log.Error("the page of Zoom's Meeting SDK cannot be made", "error", err)
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	giveDocument(w, document)
}

// giveDocument answers with a document.
func giveDocument(w http.ResponseWriter, document string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = io.WriteString(w, document) // a browser that is gone needs none
}

// giveTicket answers with what the meeting is joined with, signed anew.
func (s *server) giveTicket(w http.ResponseWriter, r *http.Request) {
	if _, err := io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, largestRequest)); err != nil {
		http.Error(w, "too large", http.StatusRequestEntityTooLarge)
		return
	}
	made, err := s.issue()
	if err != nil {
		s.log.Error("a meeting cannot be joined with Zoom's Meeting SDK", "error", err)
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(made) // as in giveDocument
}
