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
	// readTimeout limits one request over the loopback interface.
	readTimeout = 30 * time.Second
	// maxRequestBytes limits the body of a request, which is unused.
	maxRequestBytes = 1 << 10
	// shutdownTimeout is how long requests may take to end when the server closes.
	shutdownTimeout = 5 * time.Second
)

// Paths of the server. The page's path holds a secret, because the page gets the
// data that a meeting is joined with; the others hold only files.
const (
	joinPath  = "/join/" // followed by the secret
	filesPath = "/sdk/"  // the operator's files
	partsPath = "/page/" // the page's own scripts and styles
	leftPath  = "/left"  // opened by the SDK after the meeting
)

// ticket is the data that the page joins a meeting with.
type ticket struct {
	MeetingNumber string `json:"meetingNumber"`
	Passcode      string `json:"passcode"`
	Token         string `json:"token"` // token of a registrant
	Signature     string `json:"signature"`
}

// server serves the page and the SDK's files to the bot's browser only.
type server struct {
	library  *library
	issue    func() (ticket, error) // returns a ticket for the meeting
	service  func() string          // host of Zoom's service; empty for the default one
	secret   string
	listener net.Listener
	http     *http.Server
	serving  sync.WaitGroup
	log      *slog.Logger
}

// startServer starts the server on a free port of the loopback interface.
func startServer(ctx context.Context, lib *library, issue func() (ticket, error), service func() string,
	log *slog.Logger) (*server, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for Zoom's Meeting SDK: %w", err)
	}
	s := &server{library: lib, issue: issue, service: service, secret: rand.Text(), listener: listener, log: log}
	s.http = &http.Server{
		Handler: s.routes(), ReadTimeout: readTimeout, ReadHeaderTimeout: readTimeout,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	s.serving.Go(func() {
		if err := s.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			log.Error("the server of Zoom's Meeting SDK failed", "error", err)
		}
	})
	return s, nil
}

// close stops the server and closes the SDK's folder.
func (s *server) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	err := s.http.Shutdown(ctx)
	if err != nil {
		err = s.http.Close()
	}
	s.serving.Wait()
	return errors.Join(err, s.library.Close())
}

// origin returns the scheme, host and port of the server.
func (s *server) origin() string { return "http://" + s.listener.Addr().String() }

// routes returns the handler of all requests.
func (s *server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+joinPath+"{secret}/{$}", s.requireSecret(s.servePage))
	mux.HandleFunc("POST "+joinPath+"{secret}/ticket", s.requireSecret(s.serveTicket))
	mux.HandleFunc("GET "+leftPath, func(w http.ResponseWriter, _ *http.Request) {
		// It still reports what came before.
		serveDocument(w, `<!doctype html><html lang="en"><meta charset="utf-8"><title>Left</title><script src="`+partsPath+`left.js"></script>`)
	})
	mux.Handle("GET "+partsPath, filesOnly(http.FileServerFS(parts)))
	if files, err := fs.Sub(s.library.root.FS(), distDir); err == nil { // fails only for an invalid path
		mux.Handle("GET "+filesPath, http.StripPrefix(filesPath, filesOnly(http.FileServerFS(files))))
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Pages may load scripts only from the bot, and may connect to the bot and to Zoom. The SDK
		// needs unsafe-eval to join (seen in version 6.2.0) and for WebAssembly, and shared memory,
		// which only pages isolated from other origins have. Credentialless isolation loads images of
		// other origins without cookies.
		w.Header().Set("Content-Security-Policy", strings.Join([]string{
			"default-src 'none'",
			"script-src 'self' blob: 'unsafe-eval'",
			"worker-src 'self' blob:",
			"connect-src 'self' blob: data: " + zoomSources("https", "wss"),
			"style-src 'self' 'unsafe-inline'",
			"img-src 'self' blob: data: " + zoomSources("https"),
			"media-src 'self' blob: data:",
			"font-src 'self' data:",
			"base-uri 'none'",
			"form-action 'none'",
			"frame-ancestors 'none'",
		}, "; "))
		w.Header().Set("Cross-Origin-Opener-Policy", "same-origin")
		w.Header().Set("Cross-Origin-Embedder-Policy", "credentialless")
		w.Header().Set("Cross-Origin-Resource-Policy", "same-origin")
		w.Header().Set("Referrer-Policy", "origin") // the path holds a secret
		w.Header().Set("X-Content-Type-Options", "nosniff")
		foreign := r.Method != http.MethodGet && r.Header.Get("Origin") != s.origin()
		if r.Host != s.listener.Addr().String() || foreign {
			http.Error(w, "forbidden", http.StatusForbidden)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// requireSecret rejects paths without the secret.
func (s *server) requireSecret(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.PathValue("secret")), []byte(s.secret)) != 1 {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Cache-Control", "no-store")
		next(w, r)
	}
}

// filesOnly rejects requests for folders, which would be listed.
func filesOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "" || strings.HasSuffix(r.URL.Path, "/") {
			http.NotFound(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// servePage responds with the page.
func (s *server) servePage(w http.ResponseWriter, _ *http.Request) {
	document, err := joinDocument(s.library, s.service())
	if err != nil {
		s.log.Error("cannot render the page of Zoom's Meeting SDK", "error", err)
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	serveDocument(w, document)
}

// serveDocument responds with a document.
func serveDocument(w http.ResponseWriter, document string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = io.WriteString(w, document) // the browser may be gone
}

// serveTicket responds with a freshly signed ticket.
func (s *server) serveTicket(w http.ResponseWriter, r *http.Request) {
	if _, err := io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, maxRequestBytes)); err != nil {
		http.Error(w, "too large", http.StatusRequestEntityTooLarge)
		return
	}
	issued, err := s.issue()
	if err != nil {
		s.log.Error("cannot issue a ticket for Zoom's Meeting SDK", "error", err)
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(issued) // the browser may be gone
}
