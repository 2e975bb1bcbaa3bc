package network_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"standin/internal/bot/browser/network"
	"standin/internal/testing/dnstest"
)

func TestOnlyAllowedTargetsAreReached(t *testing.T) {
	t.Parallel()
	allowed, forbidden := serve(t), serve(t)
	proxy := start(t, network.ProxySettings{
		Allowed: []string{allowed.hostPort(), "replica.test:" + allowed.port()},
		Resolver: dnstest.New(t, map[string][]string{
			"replica.test": {"127.0.0.1"}, "rebound.test": {"127.0.0.1"}, "inner.test": {"10.0.0.1", "127.0.0.1", "169.254.169.254"},
		}).Resolver(),
	})
	client := proxyClient(t, proxy)

	for _, address := range []string{allowed.URL, "http://replica.test:" + allowed.port(), "http://Replica.TEST:" + allowed.port()} {
		body, err := get(client, address+"/a/path")
		if err != nil || !strings.HasSuffix(body, "for /a/path") {
			t.Errorf("%s: %q, %v", address, body, err)
		}
	}
	for _, host := range []string{
		"127.0.0.1", "127.0.0.2", "localhost", "LOCALHOST.", "rebound.test", "inner.test", "[::1]", "[::]", "0.0.0.0",
		"2130706433", "0x7f000001", "017700000001", "0177.0.0.1", "127.1", "127.0.0.1.", "[::ffff:127.0.0.1]", "[64:ff9b::7f00:1]",
		"169.254.169.254", "10.0.0.1", "192.168.1.1", "[fd00:ec2::254]", "100.64.0.1", "unknown.test",
	} {
		for _, scheme := range []string{"http", "https"} {
			body, err := get(client, scheme+"://"+host+":"+forbidden.port()+"/")
			if err == nil {
				t.Errorf("%s %s answers %q", scheme, host, body)
			}
		}
	}
	if seen := forbidden.connections.Load(); seen > 0 {
		t.Errorf("the forbidden site saw %d connections", seen)
	}
}

// TestForwardProxy checks that names are reached through the forward proxy, and literal private addresses are not.
func TestForwardProxy(t *testing.T) {
	t.Parallel()
	site := serve(t)
	upstream := start(t, network.ProxySettings{
		Allowed: []string{"replica.test:" + site.port()}, Resolver: dnstest.New(t, map[string][]string{"replica.test": {"127.0.0.1"}}).Resolver(),
	})
	client := proxyClient(t, start(t, network.ProxySettings{Upstream: func(*url.URL) (*url.URL, error) {
		return url.Parse("http://me:secret@" + upstream.Address())
	}}))
	if body, err := get(client, "http://replica.test:"+site.port()+"/a"); err != nil || !strings.HasSuffix(body, "for /a") {
		t.Errorf("%q, %v", body, err)
	}
	for _, host := range []string{"127.0.0.1:" + site.port(), "other.test:80"} {
		if body, err := get(client, "http://"+host); err == nil {
			t.Errorf("%s answers %q", host, body)
		}
	}
}

func TestRefusalsAreLoggedOnce(t *testing.T) {
	t.Parallel()
	forbidden := serve(t)
	var logged bytes.Buffer
	proxy := start(t, network.ProxySettings{Log: slog.New(slog.NewTextHandler(&logged, nil))})
	client := proxyClient(t, proxy)
	for range 3 {
		if _, err := get(client, "https://"+forbidden.hostPort()+"/pass=word"); err == nil {
			t.Error("a refused target answers")
		}
	}
	for port := range 200 {
		if _, err := get(client, fmt.Sprintf("https://10.0.0.1:%d/", port+1)); err == nil {
			t.Error("a refused target answers")
		}
	}
	refused := proxy.Refused()
	if len(refused) != 100 {
		t.Fatalf("%d targets are remembered, want the first 100", len(refused))
	}
	if refused[0] != forbidden.hostPort() {
		t.Errorf("the first refusal is of %s", refused[0])
	}
	if err := proxy.Close(); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(logged.String(), "\n"); lines != 100 || !strings.Contains(logged.String(), "127.0.0.1 is a loopback address") ||
		strings.Contains(logged.String(), "word") {
		t.Errorf("%d lines were logged, want one for each of 100 targets, without paths:\n%.300s", lines, logged.String())
	}
}

func TestSecretPathIsTheOnlyAccess(t *testing.T) {
	t.Parallel()
	server := serve(t)
	proxy := start(t, network.ProxySettings{})
	client := proxyClient(t, proxy)
	withdraw, err := proxy.Allow(server.hostPort(), "/secret/")
	if err != nil {
		t.Fatal(err)
	}
	if body, err := get(client, server.URL+"/secret/chunks/1"); err != nil || body != "you asked "+server.hostPort()+" for /secret/chunks/1" {
		t.Errorf("below the path: %q, %v", body, err)
	}
	reached := server.connections.Load()
	for _, address := range []string{
		server.URL + "/", server.URL + "/secret", server.URL + "/secreT/x", server.URL + "/other/secret/", server.URL + "/%73ecret/x",
		"https://" + server.hostPort() + "/secret/", // a tunnel, which shows no path
		strings.Replace(server.URL, "127.0.0.1", "localhost", 1) + "/secret/x",
	} {
		if body, err := get(client, address); err == nil {
			t.Errorf("%s answers %q", address, body)
		}
	}
	withdraw()
	if body, err := get(client, server.URL+"/secret/chunks/2"); err == nil {
		t.Errorf("after its withdrawal it answers %q", body)
	}
	if more := server.connections.Load() - reached; more > 0 {
		t.Errorf("%d connections reached the host by other ways", more)
	}
}

func TestTunnelCopiesBothWays(t *testing.T) {
	t.Parallel()
	secure := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(w, r.Body)
	}))
	t.Cleanup(secure.Close)
	proxy := start(t, network.ProxySettings{Allowed: []string{secure.Listener.Addr().String()}})
	client := proxyClient(t, proxy)
	client.Transport.(*http.Transport).TLSClientConfig = secure.Client().Transport.(*http.Transport).TLSClientConfig
	sent := strings.Repeat("there and back ", 100_000)
	response, err := client.Post(secure.URL, "text/plain", strings.NewReader(sent))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if body, err := io.ReadAll(response.Body); err != nil || string(body) != sent {
		t.Errorf("%d bytes came back, %v; want %d", len(body), err, len(sent))
	}
}

// tunnel opens a tunnel.
func tunnel(t *testing.T, proxy *network.Proxy, target string) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn, err := net.DialTimeout("tcp", proxy.Address(), testTimeout)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(testTimeout)); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", target, target)
	reader := bufio.NewReader(conn)
	response, err := http.ReadResponse(reader, &http.Request{Method: http.MethodConnect})
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("CONNECT: %v, %v", response, err)
	}
	return conn, reader
}

func TestTunnelEndsWithEitherEnd(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	proxy := start(t, network.ProxySettings{Allowed: []string{listener.Addr().String()}})

	accept := func() net.Conn {
		far, err := listener.Accept()
		if err == nil {
			err = far.SetDeadline(time.Now().Add(testTimeout))
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { far.Close() })
		return far
	}
	near, _ := tunnel(t, proxy, listener.Addr().String())
	far := accept()
	near.Close()
	if rest, err := io.ReadAll(far); err != nil || len(rest) > 0 {
		t.Errorf("the browser has gone, and the host reads %q, %v", rest, err)
	}
	_, fromHost := tunnel(t, proxy, listener.Addr().String())
	far = accept()
	_, _ = io.WriteString(far, "the last word")
	far.Close()
	if received, err := io.ReadAll(fromHost); err != nil || string(received) != "the last word" {
		t.Errorf("the host has gone, and the browser reads %q, %v", received, err)
	}
	_, fromHost = tunnel(t, proxy, listener.Addr().String())
	accept()
	if err := proxy.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := fromHost.ReadByte(); err == nil {
		t.Error("a tunnel outlives its proxy")
	}
	if err := proxy.Close(); err != nil {
		t.Errorf("closing again: %v", err)
	}
}

// Events reach the page when they are sent, not when the response ends.
func TestPlainResponsesAreStreamed(t *testing.T) {
	t.Parallel()
	received := make(chan struct{})
	source := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: first\n\n")
		_ = http.NewResponseController(w).Flush()
		select {
		case <-received:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(source.Close)
	proxy := start(t, network.ProxySettings{Allowed: []string{source.Listener.Addr().String()}})
	response, err := proxyClient(t, proxy).Get(source.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := bufio.NewReader(response.Body).ReadString('\n')
	if err != nil || text != "data: first\n" {
		t.Errorf("the first event is %q, %v", text, err)
	}
	close(received)
}

func TestHeadersAreUnchanged(t *testing.T) {
	t.Parallel()
	headers := make(chan http.Header, 1)
	target := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { headers <- r.Header }))
	t.Cleanup(target.Close)
	proxy := start(t, network.ProxySettings{Allowed: []string{target.Listener.Addr().String()}})
	conn, err := net.Dial("tcp", proxy.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "GET %s/ HTTP/1.1\r\nHost: elsewhere.test\r\nProxy-Connection: keep-alive\r\nX-Mine: 1\r\n\r\n", target.URL)
	select {
	case got := <-headers:
		got.Del("Connection")
		if len(got) != 1 || got.Get("X-Mine") != "1" {
			t.Errorf("the host got %v, want what was sent", got)
		}
	case <-time.After(testTimeout):
		t.Fatal("the request does not arrive")
	}
}

func TestMalformedRequestsAreRefused(t *testing.T) {
	t.Parallel()
	proxy := start(t, network.ProxySettings{})
	tests := map[string]int{
		"GET / HTTP/1.1\r\nHost: " + proxy.Address() + "\r\n\r\n":                                       http.StatusBadRequest,
		"GET https://example.test/ HTTP/1.1\r\nHost: example.test\r\n\r\n":                              http.StatusBadRequest,
		"GET ftp://example.test/ HTTP/1.1\r\nHost: example.test\r\n\r\n":                                http.StatusBadRequest,
		"CONNECT example.test HTTP/1.1\r\nHost: example.test\r\n\r\n":                                   http.StatusBadRequest,
		"CONNECT example.test:0 HTTP/1.1\r\nHost: example.test:0\r\n\r\n":                               http.StatusBadRequest,
		"CONNECT example.test:https HTTP/1.1\r\nHost: example.test:https\r\n\r\n":                       http.StatusBadRequest,
		"GET http://example.test/ HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("x", 1<<20) + "\r\n\r\n": http.StatusRequestHeaderFieldsTooLarge,
	}
	for request, want := range tests {
		conn, err := net.Dial("tcp", proxy.Address())
		if err != nil {
			t.Fatal(err)
		}
		go func() { _, _ = io.WriteString(conn, request) }()
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || response.StatusCode != want {
			t.Errorf("%.60q: %v, %v, want %d", request, response, err, want)
		}
		conn.Close()
	}
}

func TestExceptionsAreHostsWithPorts(t *testing.T) {
	t.Parallel()
	for _, entry := range []string{"", "127.0.0.1", "::1", ":80", "host:", "host:0", "host:65536", "http://host:80"} {
		proxy, err := network.StartProxy(t.Context(), network.ProxySettings{Allowed: []string{entry}})
		if err == nil {
			_ = proxy.Close()
			t.Errorf("%q is taken for a host and port", entry)
		}
	}
}

func TestRequestsAreBounded(t *testing.T) {
	t.Parallel()
	server := serve(t)
	proxy := start(t, network.ProxySettings{Allowed: []string{server.hostPort()}})
	tunnels := 0
	for range 600 {
		conn, err := net.Dial("tcp", proxy.Address())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "CONNECT %[1]s HTTP/1.1\r\nHost: %[1]s\r\n\r\n", server.hostPort())
		if _, err := io.ReadFull(conn, make([]byte, len("HTTP/1.1 200"))); err != nil {
			break
		}
		tunnels++
	}
	if tunnels != 512 {
		t.Errorf("%d tunnels are open at the same time, want 512", tunnels)
	}
}

// FuzzProxy checks that no request reaches a site which is not allowed.
func FuzzProxy(f *testing.F) {
	forbidden := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	f.Cleanup(forbidden.Close)
	var reached atomic.Int64
	forbidden.Config.ConnState = func(net.Conn, http.ConnState) { reached.Add(1) }
	const target = "TARGET" // the site's address, whose port differs in each run
	for _, request := range []string{
		"GET http://TARGET/ HTTP/1.1\r\nHost: TARGET\r\n\r\n", "CONNECT TARGET HTTP/1.1\r\nHost: TARGET\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: TARGET\r\n\r\n",
		"GET http://meet.google.com@TARGET/ HTTP/1.0\r\n\r\n",
		"POST http://TARGET:80/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	} {
		f.Add(request)
	}
	proxy, err := network.StartProxy(f.Context(), network.ProxySettings{})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = proxy.Close() })
	f.Fuzz(func(t *testing.T, request string) {
		conn, err := net.Dial("tcp", proxy.Address())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, strings.ReplaceAll(request, target, forbidden.Listener.Addr().String()))
		_ = conn.(*net.TCPConn).CloseWrite()
		_ = conn.SetDeadline(time.Now().Add(testTimeout))
		_, _ = io.Copy(io.Discard, conn)
		if reached.Load() > 0 {
			t.Errorf("%q reached the site", request)
		}
	})
}
