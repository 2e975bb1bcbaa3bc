package egress

import (
	"net"
	"sync"
)

// limitedListener limits the open connections. Further ones wait in the
// kernel. Unlike netutil.LimitListener it keeps the methods of *net.TCPConn,
// such as CloseWrite.
type limitedListener struct {
	*net.TCPListener
	slots chan struct{}

	done      chan struct{}
	closeOnce sync.Once
}

func limitListener(listener net.Listener, limit int) net.Listener {
	tcp, ok := listener.(*net.TCPListener)
	if !ok {
		return listener
	}
	return &limitedListener{TCPListener: tcp, slots: make(chan struct{}, limit), done: make(chan struct{})}
}

// Accept waits for a free slot and a connection.
func (l *limitedListener) Accept() (net.Conn, error) {
	select {
	case l.slots <- struct{}{}:
	case <-l.done:
		return nil, net.ErrClosed
	}
	conn, err := l.AcceptTCP()
	if err != nil {
		<-l.slots
		return nil, err
	}
	return &limitedConn{TCPConn: conn, release: sync.OnceFunc(func() { <-l.slots })}, nil
}

func (l *limitedListener) Close() error {
	l.closeOnce.Do(func() { close(l.done) })
	return l.TCPListener.Close()
}

// limitedConn frees its slot when it is closed.
type limitedConn struct {
	*net.TCPConn
	release func()
}

func (c *limitedConn) Close() error {
	defer c.release()
	return c.TCPConn.Close()
}
