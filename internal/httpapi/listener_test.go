package httpapi_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"standin/internal/httpapi"
)

// TestInvalidHTTPResultsInJSON sends requests that net/http refuses before any
// handler runs.
func TestInvalidHTTPResultsInJSON(t *testing.T) {
	t.Parallel()
	s := newSurface(t, nil)
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := httpapi.NewServer(s.api)
	go server.Serve(httpapi.Listen(inner, 10))
	t.Cleanup(func() { server.Close() })
	for name, test := range map[string]struct {
		request string
		status  int
		code    string
	}{
		"bad escape":        {"GET /%zz HTTP/1.1\r\nHost: x\r\n\r\n", 400, "invalid_input"},
		"no host":           {"GET / HTTP/1.1\r\n\r\n", 400, "invalid_input"},
		"not HTTP":          {"hello\r\n\r\n", 400, "invalid_input"},
		"large headers":     {"GET / HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("a", 64<<10) + "\r\n\r\n", 431, "headers_too_large"},
		"transfer encoding": {"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n", 501, "unsupported"},
		"a handler's error": {"GET /nothing HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", 404, "not_found"},
	} {
		conn, err := net.Dial("tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, test.request); err != nil {
			t.Fatal(err)
		}
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatalf("%s: read the body: %v", name, err)
		}
		var got struct{ Error, Message string }
		if err := json.Unmarshal(body, &got); err != nil || response.StatusCode != test.status || got.Error != test.code || got.Message == "" {
			t.Errorf("%s: %d %s (%v)", name, response.StatusCode, body, err)
		}
		conn.Close()
	}
}

// TestListenLimitsConnections opens one connection more than allowed. It is served
// when another one closes.
func TestListenLimitsConnections(t *testing.T) {
	t.Parallel()
	s := newSurface(t, nil)
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := httpapi.NewServer(s.api)
	go server.Serve(httpapi.Listen(inner, 1))
	t.Cleanup(func() { server.Close() })
	first, err := net.Dial("tcp", inner.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	const request = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
	if _, err := io.WriteString(first, request); err != nil {
		t.Fatal(err)
	}
	if got, err := http.ReadResponse(bufio.NewReader(first), nil); err != nil || got.StatusCode != 200 {
		t.Fatalf("the first connection: %v, %v", got, err)
	}
	second, err := net.Dial("tcp", inner.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if _, err := io.WriteString(second, request); err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() {
		_, err := http.ReadResponse(bufio.NewReader(second), nil)
		served <- err
	}()
	select {
	case err := <-served:
		t.Fatalf("the second connection was served while the first was open (%v)", err)
	default:
	}
	first.Close()
	if err := <-served; err != nil {
		t.Errorf("the second connection: %v", err)
	}
}
