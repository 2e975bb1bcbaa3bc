package chaos

import (
	"io"
	"net"
	"sync"
	"testing"
)

// line is a node's way to the database, which can be cut.
type line struct {
	target   string // a Unix socket
	listener net.Listener
	copies   sync.WaitGroup

	mu    sync.Mutex
	cut   bool // what is connected is ended, and nothing new is
	held  chan struct{}
	conns map[net.Conn]struct{}
}

// newLine listens for a node that wants to reach the socket.
func newLine(t *testing.T, target string) *line {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &line{target: target, listener: listener, conns: make(map[net.Conn]struct{})}
	l.copies.Go(l.accept)
	t.Cleanup(func() {
		_ = listener.Close()
		l.mend()
		l.sever()
		l.copies.Wait()
	})
	return l
}

// address is where the node finds the line.
func (l *line) address() string { return l.listener.Addr().String() }

func (l *line) accept() {
	for {
		from, err := l.listener.Accept()
		if err != nil {
			return
		}
		l.copies.Go(func() { l.connect(from) })
	}
}

// connect joins a node's connection to the database's.
func (l *line) connect(from net.Conn) {
	defer from.Close()
	to, err := net.Dial("unix", l.target)
	if err != nil {
		return
	}
	defer to.Close()
	l.mu.Lock()
	refused := l.cut
	l.conns[from], l.conns[to] = struct{}{}, struct{}{}
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.conns, from)
		delete(l.conns, to)
	}()
	if refused {
		return
	}
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{from, to}, {to, from}} {
		both.Go(func() {
			l.copy(way[1], way[0])
			_ = from.Close()
			_ = to.Close()
		})
	}
	both.Wait()
}

// copy passes bytes on; while the line is held they wait.
func (l *line) copy(to io.Writer, from io.Reader) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		l.mu.Lock()
		held := l.held
		l.mu.Unlock()
		if held != nil {
			<-held
		}
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// sever ends all connections; new ones are ended too until the line is mended.
func (l *line) sever() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = true
	for conn := range l.conns {
		_ = conn.Close()
	}
}

// hold lets nothing through, and says so to nobody: a network that loses all.
func (l *line) hold() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held == nil {
		l.held = make(chan struct{})
	}
}

// mend makes the line whole again.
func (l *line) mend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = false
	if l.held != nil {
		close(l.held)
		l.held = nil
	}
}
