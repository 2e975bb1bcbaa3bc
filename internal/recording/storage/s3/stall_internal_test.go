package s3

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestStallConn checks when the connection to an object store fails, by a fake clock.
func TestStallConn(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		chunk    int           // bytes that the store sends at a time
		pause    time.Duration // of the store, between chunks
		slowness time.Duration // of the reader, between reads
		chunks   int
		fails    time.Duration // when; 0: it does not
	}{
		"a store that answers":           {chunk: 32 << 10, pause: time.Second, chunks: 1000},
		"a slow store":                   {chunk: 1 << 10, pause: 2 * time.Second, chunks: 1000},
		"a slow reader":                  {chunk: 1, slowness: time.Hour, chunks: 100},
		"a store that sends nothing":     {pause: time.Hour, chunk: 1, chunks: 1, fails: 3 * time.Minute},
		"a store that drips, byte after": {chunk: 1, pause: 50 * time.Second, chunks: 100, fails: 3 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				client, server := net.Pipe()
				done := make(chan struct{})
				defer func() { client.Close(); <-done }()
				connection := &stallConn{Conn: client, stall: stallTimeout}
				go func() {
					defer close(done)
					defer server.Close()
					if _, err := server.Read(make([]byte, 7)); err != nil {
						return
					}
					for range test.chunks {
						<-time.After(test.pause)
						if _, err := server.Write(make([]byte, test.chunk)); err != nil {
							return
						}
					}
				}()
				if _, err := connection.Write([]byte("request")); err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				var err error
				for read := 0; err == nil && read < test.chunk*test.chunks; {
					var n int
					n, err = connection.Read(make([]byte, 64<<10))
					read += n
					<-time.After(test.slowness)
				}
				if failed := errors.Is(err, os.ErrDeadlineExceeded); failed != (test.fails > 0) || err != nil && !failed {
					t.Fatalf("after %s: %v", time.Since(began), err)
				}
				if after := time.Since(began); test.fails > 0 && after != test.fails {
					t.Errorf("it failed after %s, want %s", after, test.fails)
				}
			})
		})
	}
}

// TestStalledStore checks that a request to a store that does not answer fails.
func TestStalledStore(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	address, err := url.Parse("s3://bucket?region=x&use_path_style=true&anonymous=true&endpoint=" + server.URL)
	if err != nil {
		t.Fatal(err)
	}
	bucket, _, err := open(t.Context(), address, 50*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	defer bucket.Close()
	// The connection may be closed while the request is still written.
	if _, err := bucket.IsAccessible(t.Context()); err == nil || !strings.Contains(err.Error(), "timeout") && !errors.Is(err, net.ErrClosed) {
		t.Errorf("the error is %v", err)
	}
}
