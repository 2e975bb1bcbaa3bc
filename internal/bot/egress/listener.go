package egress

import (
	"net"
	"sync"
)

// boundedListener accepts no more than so many connections at once; further
// ones wait in the kernel.
type boundedListener struct {
	*net.TCPListener
	room chan struct{}

	done      chan struct{}
	closeOnce sync.Once
}

// bounded bounds a TCP listener.
func bounded(listener net.Listener, most int) net.Listener {
	tcp, ok := listener.(*net.TCPListener)
	if !ok {
		return listener
	}
	return &boundedListener{TCPListener: tcp, room: make(chan struct{}, most), done: make(chan struct{})}
}

// Accept waits for room and for a connection.
func (l *boundedListener) Accept() (net.Conn, error) {
	select {
	case l.room <- struct{}{}:
	case <-l.done:
		return nil, net.ErrClosed
	}
	conn, err := l.AcceptTCP()
	if err != nil {
		<-l.room
		return nil, err
	}
	return &boundedConn{TCPConn: conn, leave: sync.OnceFunc(func() { <-l.room })}, nil
}

// Close ends the listener.
func (l *boundedListener) Close() error {
	l.closeOnce.Do(func() { close(l.done) })
	return l.TCPListener.Close()
}

// boundedConn makes room when it is closed. What else a TCP connection can do,
// such as closing one direction, stays visible.
type boundedConn struct {
	*net.TCPConn
	leave func()
}

// Close closes the connection.
func (c *boundedConn) Close() error {
	defer c.leave()
	return c.TCPConn.Close()
}
