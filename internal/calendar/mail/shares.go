package mail

import (
	"net"
	"net/netip"
	"sync"
	"time"

	"standin/internal/base/budget"
	"standin/internal/server/httpmw"
)

// shareListener accepts connections as long as their clients have a share, and tells
// others to try again later.
type shareListener struct {
	net.Listener
	budget *budget.Budget
	key    func(net.Conn) string // of a client in the budget
}

// Accept implements net.Listener.
func (l *shareListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if release, err := l.budget.TryAcquire(l.key(conn), 1); err == nil {
			return &sharedConn{Conn: conn, release: sync.OnceFunc(release)}, nil
		}
		_ = conn.SetWriteDeadline(time.Now().Add(time.Second))
		_, _ = conn.Write([]byte("421 4.7.0 Too many connections, try again later\r\n")) // for people; the client may have left
		_ = conn.Close()
	}
}

// sharedConn is a connection that has a slot.
type sharedConn struct {
	net.Conn
	release func()
}

// Close implements net.Conn.
func (c *sharedConn) Close() error {
	defer c.release()
	return c.Conn.Close()
}

// remoteAddress returns the address of a client; the zero Addr if it has none.
func remoteAddress(conn net.Conn) netip.Addr {
	address, err := netip.ParseAddrPort(conn.RemoteAddr().String())
	if err != nil {
		return netip.Addr{}
	}
	return address.Addr().Unmap()
}

// shareKey returns the key of a client: each connection of one that the operator trusts has a share, because it
// passes on the mail of many.
func (p *Policy) shareKey(conn net.Conn) string {
	client := remoteAddress(conn)
	if inNetworks(p.Networks, client) || inNetworks(p.Relays, client) {
		return conn.RemoteAddr().String()
	}
	return httpmw.AddressKey(client)
}
