package main

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestAttackConnectionFlood opens more connections than the service accepts, each with
// one request and then silence. Others are served at once.
func TestAttackConnectionFlood(t *testing.T) {
	t.Parallel()
	s := startTarget(t, newDataDir(t))
	const connections = 10_010
	open := make([]net.Conn, 0, connections)
	t.Cleanup(func() {
		for _, connection := range open {
			_ = connection.Close() // the service closed some of them
		}
	})
	for range connections {
		connection, err := net.Dial("tcp", strings.TrimPrefix(s.base, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, connection)
		_, _ = io.WriteString(connection, "GET /healthz HTTP/1.1\r\nHost: standin\r\n\r\n") // the service may refuse it
	}
	// Idle connections last for two minutes. A busy machine takes a while for the
	// requests before.
	client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}
	started := time.Now()
	for range 10 {
		got, err := client.Get(s.base + "/healthz")
		if err != nil {
			t.Fatalf("beside %d idle connections: %v", connections, err)
		}
		_ = got.Body.Close() // only the status counts
		if got.StatusCode != http.StatusOK {
			t.Errorf("beside %d idle connections: status %d", connections, got.StatusCode)
		}
	}
	t.Logf("10 requests of another client took %s", time.Since(started))
}
