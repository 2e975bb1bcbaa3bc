package httpmw

import (
	"container/list"
	"net"
	"net/http"
	"net/netip"
	"sync"
)

// Shares of the connections of a server, in percent.
const (
	clientShare = 10 // of one client
	proxyShare  = 90 // of one address that many clients may share
	publicShare = 90 // of all clients on public addresses; the rest is a reserve
	idleShare   = 80 // above it, idle connections are closed
)

// Connections bounds the connections of a server. One client can hold a tenth of them.
// The last tenth is reserved for clients on loopback and private addresses, such as
// bots and the probes of a cluster. When most connections are used, each new one closes
// the one that has been idle for the longest.
type Connections struct {
	max     int
	proxied bool // proxies connect, instead of clients

	mu      sync.Mutex
	open    map[net.Conn]*connection
	clients map[string]int // connections by address key
	idle    *list.List     // of net.Conn; the one that became idle first is in front
}

// connection is the state of an open connection.
type connection struct {
	client string
	idle   *list.Element // nil while a request is served
}

// NewConnections returns a Connections for up to most connections.
func NewConnections(most int, proxies TrustedProxies) *Connections {
	return &Connections{
		max: most, proxied: proxies > 0,
		open: make(map[net.Conn]*connection), clients: make(map[string]int), idle: list.New(),
	}
}

// Track follows a connection. Use it as http.Server.ConnState. It closes connections
// beyond the bounds.
func (c *Connections) Track(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if state == http.StateNew {
		address := connectionAddress(conn.RemoteAddr().String())
		client := AddressKey(address)
		if len(c.open) >= c.share(idleShare) {
			if longest := c.idle.Front(); longest != nil {
				idle := longest.Value.(net.Conn)
				c.idle.Remove(longest)
				c.open[idle].idle = nil
				_ = idle.Close() // Track learns it from the server
			}
		}
		if len(c.open) >= c.limit(address) || c.clients[client] >= c.clientLimit(address) {
			_ = conn.Close() // the client sees it
			return
		}
		c.open[conn] = &connection{client: client, idle: c.idle.PushBack(conn)} // it has sent nothing yet
		c.clients[client]++
		return
	}
	tracked := c.open[conn]
	if tracked == nil {
		return // refused
	}
	if tracked.idle != nil {
		c.idle.Remove(tracked.idle)
		tracked.idle = nil
	}
	switch state {
	case http.StateIdle:
		tracked.idle = c.idle.PushBack(conn)
	case http.StateClosed, http.StateHijacked:
		delete(c.open, conn)
		if c.clients[tracked.client]--; c.clients[tracked.client] == 0 {
			delete(c.clients, tracked.client)
		}
	}
}

// limit returns how many connections may be open for a client to be accepted.
func (c *Connections) limit(client netip.Addr) int {
	if client.IsLoopback() || client.IsPrivate() || client.IsLinkLocalUnicast() {
		return c.max
	}
	return c.share(publicShare)
}

// clientLimit returns how many connections a client may have open.
func (c *Connections) clientLimit(client netip.Addr) int {
	if c.proxied || client.IsLoopback() { // a proxy may not be configured
		return c.share(proxyShare)
	}
	return c.share(clientShare)
}

func (c *Connections) share(percent int) int { return max(1, c.max*percent/100) }
