package network_test

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"standin/internal/bot/browser/network"
)

// testTimeout limits how long a test waits.
const testTimeout = 30 * time.Second

// start runs a proxy that ends with the test.
func start(t *testing.T, settings network.ProxySettings) *network.Proxy {
	t.Helper()
	proxy, err := network.StartProxy(t.Context(), settings)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := proxy.Close(); err != nil {
			t.Errorf("closing the proxy: %v", err)
		}
	})
	return proxy
}

// proxyClient returns a client that sends everything through the proxy, as the
// browser does.
func proxyClient(t *testing.T, proxy *network.Proxy) *http.Client {
	t.Helper()
	transport := &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: proxy.Address()})}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: testTimeout}
}

// get fetches an address and returns the body.
func get(client *http.Client, address string) (string, error) {
	response, err := client.Get(address)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return string(body), err
}

// testSite is a local server that counts connections.
type testSite struct {
	*httptest.Server
	connections atomic.Int64
}

// serve starts a site that responds with the path of the request.
func serve(t *testing.T) *testSite {
	t.Helper()
	s := &testSite{}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "you asked "+r.Host+" for "+r.URL.Path)
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.connections.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	return s
}

func (s *testSite) hostPort() string { return s.Listener.Addr().String() }

func (s *testSite) port() string { return s.hostPort()[strings.LastIndexByte(s.hostPort(), ':')+1:] }
