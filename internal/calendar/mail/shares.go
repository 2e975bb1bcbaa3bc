package mail

import (
	"net"
	"net/netip"
	"sync"
	"time"

	"standin/internal/server/httpmw"
)

// shares divides slots between client addresses, so that no client takes all. Its
// methods may be called from any goroutine.
type shares struct {
	total, each int

	mu      sync.Mutex
	closed  bool
	taken   int
	byKey   map[string]int
	holders sync.WaitGroup
}

func newShares(total, each int) *shares {
	return &shares{total: total, each: each, byKey: make(map[string]int)}
}

// take takes a slot for a client. It reports false if the client has its share, or
// none is left. The empty key is for clients without a share, and may take all.
func (s *shares) take(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.taken >= s.total || key != "" && s.byKey[key] >= s.each {
		return false
	}
	s.taken++
	s.byKey[key]++
	s.holders.Add(1)
	return true
}

// release returns a slot.
func (s *shares) release(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken--
	if s.byKey[key]--; s.byKey[key] == 0 {
		delete(s.byKey, key)
	}
	s.holders.Done()
}

// close lets no client take a slot anymore, and waits until all are returned.
func (s *shares) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.holders.Wait()
}

// shareListener accepts connections as long as their clients have a share, and tells
// others to try again later.
type shareListener struct {
	net.Listener
	shares *shares
	key    func(netip.Addr) string // of a client in shares
}

// Accept implements net.Listener.
func (l *shareListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		key := l.key(remoteAddress(conn))
		if l.shares.take(key) {
			return &sharedConn{Conn: conn, release: sync.OnceFunc(func() { l.shares.release(key) })}, nil
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

// shareKey returns the key of a client; empty if the operator trusts it, because it
// passes on the mail of many.
func (p *Policy) shareKey(client netip.Addr) string {
	if inNetworks(p.Networks, client) || inNetworks(p.Relays, client) {
		return ""
	}
	return httpmw.AddressKey(client)
}
