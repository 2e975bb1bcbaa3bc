package httpmw_test

import (
	"bufio"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"standin/internal/base/budget"
	"standin/internal/server/httpmw"
)

// pipes is a listener for connections within the process, which work in a synctest bubble.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if conn, ok := <-p; ok {
		return conn, nil
	}
	return nil, net.ErrClosed
}
func (p pipes) Close() error   { return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

// post sends the headers of a request of a client, and returns its connection.
func (p pipes) post(t *testing.T, client string, length int) net.Conn {
	t.Helper()
	ours, theirs := net.Pipe()
	p <- theirs
	if _, err := fmt.Fprintf(ours, "POST /%s HTTP/1.1\r\nHost: standin\r\nContent-Length: %d\r\n\r\n", client, length); err != nil {
		t.Fatal(err)
	}
	return ours
}

// answer returns the status of a response and closes the connection.
func answer(t *testing.T, conn net.Conn) int {
	t.Helper()
	defer conn.Close()
	got, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	return got.StatusCode
}

// serveBodies runs a test in a bubble, with a server that reads bodies of up to 1 MiB within
// 30 s, and holds each until a slot of hold is free. The path is the client; /caller is
// authenticated.
func serveBodies(t *testing.T, test func(t *testing.T, server pipes, hold chan struct{})) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		bodies, hold := httpmw.NewBodies(), make(chan struct{})
		listener := make(pipes)
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, r = httpmw.StartRecord(w, r)
			if r.URL.Path == "/caller" {
				httpmw.RecordOf(r).Caller = "caller"
			}
			_, done, err := bodies.Open(w, r, r.URL.Path, 1<<20, 30*time.Second)
			if err == nil {
				defer done()
				<-hold
			}
			switch {
			case errors.Is(err, budget.ErrFull):
				w.WriteHeader(http.StatusServiceUnavailable)
			case errors.Is(err, os.ErrDeadlineExceeded):
				w.WriteHeader(http.StatusRequestTimeout)
			case err != nil:
				w.WriteHeader(http.StatusBadRequest)
			}
		})}
		go func() { _ = server.Serve(listener) }()
		test(t, listener, hold)
		close(listener)
		if err := server.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestSlowBodies sends bodies at several rates.
func TestSlowBodies(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		first, perSecond int
		status           int
		within           time.Duration
	}{
		"nothing":               {0, 0, 408, 2 * time.Second},
		"too slow":              {1500, 500, 408, 7 * time.Second},
		"fast, then nothing":    {20_000, 0, 408, 22 * time.Second},
		"too much to come":      {20_000, 1200, 408, 30 * time.Second},
		"slow, but fast enough": {0, 4000, 200, 16 * time.Second},
		"at once":               {60_000, 0, 200, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			serveBodies(t, func(t *testing.T, server pipes, hold chan struct{}) {
				close(hold)
				const size = 60_000
				conn := server.post(t, "stranger", size)
				started := time.Now()
				var sending sync.WaitGroup
				defer sending.Wait()
				sending.Go(func() {
					send := func(n int) error {
						_, err := io.WriteString(conn, strings.Repeat("x", n))
						return err
					}
					for sent, err := test.first, send(test.first); err == nil && sent < size && test.perSecond > 0; sent += test.perSecond {
						time.Sleep(time.Second) // in the bubble
						err = send(min(test.perSecond, size-sent))
					}
				})
				status := answer(t, conn)
				if took := time.Since(started); status != test.status || took > test.within {
					t.Errorf("status %d after %s, want %d within %s", status, took, test.status, test.within)
				}
			})
		})
	}
}

// TestBodies fills what strangers may use. Nothing counts before it arrives; the client with
// the most is refused at once, and so is a body that waits to be decoded.
func TestBodies(t *testing.T) {
	t.Parallel()
	serveBodies(t, func(t *testing.T, server pipes, hold chan struct{}) {
		const large = 1 << 20
		for i := range 100 {
			defer server.post(t, fmt.Sprint("silent", i), large).Close()
		}
		refused := make(chan string, 100)
		send := func(client string, size int) {
			conn := server.post(t, client, large)
			_, _ = io.WriteString(conn, strings.Repeat("x", size))
			synctest.Wait()
			go func() {
				if status := answer(t, conn); status == http.StatusServiceUnavailable {
					refused <- client
				}
			}()
			synctest.Wait()
		}
		for range 5 {
			send("flooder", large) // one is decoded, the others wait
		}
		for range 4 {
			send("second", large-1)
		}
		if len(refused) > 0 {
			t.Fatalf("%s was refused", <-refused)
		}
		send("caller", large-1)
		send("third", large-1)
		send("third", large-1)
		if len(refused) == 0 {
			t.Fatal("nobody was refused")
		}
		for len(refused) > 0 {
			if client := <-refused; client == "third" || client == "caller" {
				t.Errorf("%s was refused", client)
			}
		}
		close(hold)
		small := server.post(t, "fourth", 5)
		_, _ = io.WriteString(small, "small")
		if status := answer(t, small); status != http.StatusOK {
			t.Errorf("a small body: status %d", status)
		}
	})
}

// TestBodiesAreReadInTurn checks that no handler reads a body around Bodies.
func TestBodiesAreReadInTurn(t *testing.T) {
	t.Parallel()
	allowed := map[string]bool{ // functions that do not decode
		"ServeHTTP": true, "discardBody": true, "uploadMedia": true, "once": true, "parseForm": true,
	}
	readers := map[string]bool{"Body": true, "ParseForm": true, "ParseMultipartForm": true, "MultipartReader": true, "FormValue": true,
		"PostFormValue": true, "FormFile": true}
	found := 0
	for _, pattern := range []string{"../httpapi/*.go", "../dashboard/*.go"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, declared := range file.Decls {
				function, ok := declared.(*ast.FuncDecl)
				if !ok {
					continue
				}
				ast.Inspect(function, func(n ast.Node) bool {
					used, ok := n.(*ast.SelectorExpr)
					if !ok || !readers[used.Sel.Name] {
						return true
					}
					request := types.ExprString(used.X)
					if request != "r" && request != "req.r" {
						return true
					}
					if found++; !allowed[function.Name.Name] {
						t.Errorf("%s: %s reads %s: use readBody or parseForm", name, function.Name.Name, used.Sel.Name)
					}
					return true
				})
			}
		}
	}
	if found == 0 {
		t.Error("no body is read at all")
	}
}
