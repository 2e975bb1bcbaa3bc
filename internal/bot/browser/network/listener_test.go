package network

import (
	"net"
	"testing"
)

func TestConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener := limitListener(tcp, 1)
	accepted := make(chan net.Conn)
	go func() {
		defer close(accepted)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			accepted <- conn
		}
	}()
	for range 2 { // the kernel accepts the second connection, the listener does not
		conn, err := net.Dial("tcp", tcp.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	first := <-accepted
	if free := listener.(*limitedListener).slots; len(free) != cap(free) {
		t.Errorf("%d of %d slots are taken", len(free), cap(free))
	}
	select {
	case <-accepted:
		t.Error("a second connection is accepted beside the first")
	default:
	}
	first.Close()
	first.Close()
	second := <-accepted
	second.Close()
	listener.Close()
	if _, more := <-accepted; more {
		t.Error("a closed listener accepts")
	}
}
