package chaos

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// dbProxy is a TCP proxy between a node and the database, which can disconnect or
// block it.
type dbProxy struct {
	listener net.Listener
	copies   sync.WaitGroup

	mu      sync.Mutex
	target  string       // of new connections: a Unix socket
	cut     bool         // connections are closed
	silent  *atomic.Bool // the connections since the last silence lose all data
	blocked chan struct{}
	conns   map[net.Conn]struct{}
}

// newDBProxy starts a proxy for the socket.
func newDBProxy(t *testing.T, target string) *dbProxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &dbProxy{target: target, listener: listener, conns: make(map[net.Conn]struct{}), silent: new(atomic.Bool)}
	l.copies.Go(l.accept)
	t.Cleanup(func() {
		_ = listener.Close()
		l.restore()
		l.disconnect()
		l.copies.Wait()
	})
	return l
}

// address returns the address of the proxy.
func (l *dbProxy) address() string { return l.listener.Addr().String() }

func (l *dbProxy) accept() {
	for {
		from, err := l.listener.Accept()
		if err != nil {
			return
		}
		l.copies.Go(func() { l.connect(from) })
	}
}

// connect copies data between a node and the database.
func (l *dbProxy) connect(from net.Conn) {
	defer from.Close()
	l.mu.Lock()
	target, silent := l.target, l.silent
	l.mu.Unlock()
	to, err := net.Dial("unix", target)
	if err != nil {
		return
	}
	defer to.Close()
	l.mu.Lock()
	cut := l.cut
	l.conns[from], l.conns[to] = struct{}{}, struct{}{}
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.conns, from)
		delete(l.conns, to)
	}()
	if cut {
		return
	}
	var both sync.WaitGroup
	for _, pair := range [][2]net.Conn{{from, to}, {to, from}} {
		both.Go(func() {
			l.copy(pair[1], pair[0], silent)
			_ = from.Close()
			_ = to.Close()
		})
	}
	both.Wait()
}

// copy copies bytes, and waits while the proxy blocks.
func (l *dbProxy) copy(to io.Writer, from io.Reader, silent *atomic.Bool) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		l.mu.Lock()
		blocked := l.blocked
		l.mu.Unlock()
		if blocked != nil {
			<-blocked
		}
		if n > 0 && !silent.Load() {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// disconnect closes all connections, and new ones until restore is called.
func (l *dbProxy) disconnect() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = true
	for conn := range l.conns {
		_ = conn.Close()
	}
}

// silence loses all data of the connections that exist, as when a machine disappears.
func (l *dbProxy) silence() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.silent.Store(true)
	l.silent = new(atomic.Bool)
}

// lead leads new connections to another socket.
func (l *dbProxy) lead(target string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.target = target
}

// block stops all data without closing connections, as a network that loses all
// packets does.
func (l *dbProxy) block() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.blocked == nil {
		l.blocked = make(chan struct{})
	}
}

// restore ends disconnect and block.
func (l *dbProxy) restore() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = false
	if l.blocked != nil {
		close(l.blocked)
		l.blocked = nil
	}
}
