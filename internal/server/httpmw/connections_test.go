package httpmw_test

import (
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"
	"testing"

	"standin/internal/server/httpmw"
)

// remoteConn is a connection of a client.
type remoteConn struct {
	net.Conn
	from   net.Addr
	closed atomic.Bool
}

func (c *remoteConn) RemoteAddr() net.Addr { return c.from }

func (c *remoteConn) Close() error {
	c.closed.Store(true)
	return nil
}

// connect opens a connection from an address. active connections have sent a request.
func connect(connections *httpmw.Connections, from string, active bool) *remoteConn {
	conn := &remoteConn{from: net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(from), 1234))}
	connections.Track(conn, http.StateNew)
	switch {
	case conn.closed.Load():
		connections.Track(conn, http.StateClosed)
	case active:
		connections.Track(conn, http.StateActive)
	}
	return conn
}

// TestConnectionsOfOneClient opens more connections from one address than it may have.
// Another address, and the same one after a connection was closed, are accepted. A
// client is a /64 of IPv6.
func TestConnectionsOfOneClient(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		proxies  httpmw.TrustedProxies
		from     [2]string // of the same client
		accepted int
		others   []string // accepted when the client has all that it may have
	}{
		"public":           {0, [2]string{"192.0.2.1", "192.0.2.1"}, 10, []string{"192.0.2.2", "10.0.0.1", "::1"}},
		"private":          {0, [2]string{"10.0.0.1", "10.0.0.1"}, 10, []string{"10.0.0.2"}},
		"network of IPv6":  {0, [2]string{"2001:db8::1", "2001:db8::2"}, 10, []string{"2001:db8:0:1::1"}},
		"proxy":            {1, [2]string{"10.0.0.1", "10.0.0.1"}, 90, []string{"10.0.0.2", "127.0.0.1"}},
		"unknown proxy":    {0, [2]string{"127.0.0.1", "::ffff:127.0.0.1"}, 90, []string{"10.0.0.2", "::1"}},
		"proxy on the net": {1, [2]string{"192.0.2.1", "192.0.2.1"}, 90, []string{"10.0.0.2", "127.0.0.1"}},
	} {
		connections := httpmw.NewConnections(100, test.proxies)
		var open []*remoteConn
		for i := range 200 {
			if conn := connect(connections, test.from[i%2], true); !conn.closed.Load() {
				open = append(open, conn)
			}
		}
		if len(open) != test.accepted {
			t.Errorf("%s: %d connections were accepted, want %d", name, len(open), test.accepted)
		}
		for _, other := range test.others {
			conn := connect(connections, other, true)
			if conn.closed.Load() {
				t.Errorf("%s: %s was refused", name, other)
			}
			connections.Track(conn, http.StateClosed)
		}
		connections.Track(open[0], http.StateClosed)
		if connect(connections, test.from[0], true).closed.Load() {
			t.Errorf("%s: refused after a connection was closed", name)
		}
	}
}

// TestConnectionsUnderPressure opens idle connections from many addresses. They give
// way to new ones, the longest idle first, and those that serve a request stay open.
// Active connections from many addresses leave a reserve for private addresses.
func TestConnectionsUnderPressure(t *testing.T) {
	t.Parallel()
	connections := httpmw.NewConnections(100, 0)
	address := func(i int) string { return netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}).String() }
	busy := connect(connections, address(0), true)
	var idle []*remoteConn
	for i := range 200 {
		conn := connect(connections, address(i), false)
		if conn.closed.Load() {
			t.Fatalf("the new connection %d was refused", i)
		}
		idle = append(idle, conn)
		for _, old := range idle {
			if old.closed.Load() {
				connections.Track(old, http.StateClosed)
			}
		}
	}
	closed := 0
	for closed < len(idle) && idle[closed].closed.Load() {
		closed++
	}
	for _, conn := range idle[closed:] {
		if conn.closed.Load() {
			t.Error("a connection was closed before one that was idle for longer")
		}
	}
	if busy.closed.Load() || len(idle)-closed < 70 || len(idle)-closed > 80 {
		t.Errorf("%d idle connections are open; the busy one was closed: %v", len(idle)-closed, busy.closed.Load())
	}
	refused := 0
	for i := range 200 {
		if connect(connections, address(i), true).closed.Load() {
			refused++
		}
	}
	if refused == 0 || connect(connections, "10.0.0.1", true).closed.Load() || connect(connections, "127.0.0.1", true).closed.Load() {
		t.Errorf("with connections of 200 clients, %d were refused, or the reserve was used", refused)
	}
}
