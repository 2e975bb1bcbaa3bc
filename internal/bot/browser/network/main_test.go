package network_test

import (
	"context"
	"encoding/binary"
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

// resolver returns a resolver that knows only these names, from a DNS server
// on the loopback interface.
func resolver(t *testing.T, names map[string][]string) *net.Resolver {
	t.Helper()
	socket, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	answering := make(chan struct{})
	go func() {
		defer close(answering)
		question := make([]byte, 512)
		for {
			length, from, err := socket.ReadFrom(question)
			if err != nil {
				return
			}
			_, _ = socket.WriteTo(answer(question[:length], names), from)
		}
	}()
	t.Cleanup(func() { socket.Close(); <-answering })
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", socket.LocalAddr().String())
	}}
}

// answer returns the response to a question for IPv4 addresses (RFC 1035,
// section 4).
func answer(question []byte, names map[string][]string) []byte {
	const headerLength, typeAndClass = 12, 4
	var labels []string
	end := headerLength
	for question[end] != 0 {
		length := int(question[end])
		labels = append(labels, string(question[end+1:end+1+length]))
		end += 1 + length
	}
	end += 1 + typeAndClass
	addresses, known := names[strings.ToLower(strings.Join(labels, "."))]
	if question[end-3] != 1 { // not the type A
		addresses = nil
	}
	reply := append([]byte(nil), question[:end]...)
	binary.BigEndian.PutUint16(reply[2:], 0x8180)
	if !known {
		reply[3] |= 3 // no such name
	}
	binary.BigEndian.PutUint16(reply[6:], uint16(len(addresses)))
	binary.BigEndian.PutUint32(reply[8:], 0)
	for _, address := range addresses {
		reply = append(reply, 0xc0, headerLength, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4)
		reply = append(reply, net.ParseIP(address).To4()...)
	}
	return reply
}
