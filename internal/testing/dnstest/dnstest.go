// Package dnstest has a name server for tests.
package dnstest

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// Names is a name server on this machine. It knows IPv4 addresses only.
type Names struct {
	socket net.PacketConn

	mu        sync.Mutex
	addresses map[string][]string
}

// New starts a name server that ends with the test. Other names do not exist.
func New(t testing.TB, addresses map[string][]string) *Names {
	t.Helper()
	socket, err := new(net.ListenConfig).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &Names{socket: socket, addresses: addresses}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		n.serve(t)
	}()
	t.Cleanup(func() {
		_ = socket.Close()
		<-ended
	})
	return n
}

// Set changes the addresses of a name.
func (n *Names) Set(name string, addresses ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.addresses[name] = addresses
}

// Resolver returns a resolver that asks only this server.
func (n *Names) Resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", n.socket.LocalAddr().String())
	}}
}

// serve responds until the socket is closed.
func (n *Names) serve(t testing.TB) {
	packet := make([]byte, 1500)
	for {
		length, from, err := n.socket.ReadFrom(packet)
		if err != nil {
			return
		}
		var query dnsmessage.Message
		if err := query.Unpack(packet[:length]); err != nil {
			t.Errorf("read a name query: %v", err)
			return
		}
		answer := dnsmessage.Message{
			Header:    dnsmessage.Header{ID: query.ID, Response: true, RecursionAvailable: true},
			Questions: query.Questions,
		}
		question := query.Questions[0]
		n.mu.Lock()
		found, known := n.addresses[strings.ToLower(strings.TrimSuffix(question.Name.String(), "."))]
		n.mu.Unlock()
		if !known {
			answer.RCode = dnsmessage.RCodeNameError
		}
		for _, address := range found {
			if question.Type == dnsmessage.TypeA {
				answer.Answers = append(answer.Answers, dnsmessage.Resource{
					Header: dnsmessage.ResourceHeader{Name: question.Name, Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET},
					Body:   &dnsmessage.AResource{A: netip.MustParseAddr(address).As4()},
				})
			}
		}
		packed, err := answer.Pack()
		if err != nil {
			t.Errorf("write a name answer: %v", err)
			return
		}
		if _, err := n.socket.WriteTo(packed, from); err != nil {
			return
		}
	}
}
