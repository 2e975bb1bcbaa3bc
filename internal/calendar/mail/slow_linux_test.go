package mail

import (
	"bytes"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-smtp"

	"standin/internal/testing/await"
)

// dialFrom connects from an address of this machine.
func (h *harness) dialFrom(t *testing.T, address string) (*smtp.Client, error) {
	t.Helper()
	conn, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}).DialContext(t.Context(), "tcp", h.SMTPAddr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	c := smtp.NewClient(conn)
	return c, c.Hello("client.test")
}

// TestAttackSlowClients opens as many connections as one client may, and messages that
// never end, and checks that another client is served meanwhile, and that the first
// one loses its connections.
func TestAttackSlowClients(t *testing.T) {
	t.Parallel()
	h, _ := listening(t, func(s *Settings) {
		s.Policy.Networks = prefixes("127.0.0.3/32")
		s.SMTP.DataTime = 2 * time.Second
	})
	var clients []*smtp.Client
	for range connectionsOf {
		c, err := h.dialFrom(t, "127.0.0.2")
		if err != nil {
			t.Fatal(err)
		}
		clients = append(clients, c)
	}
	if _, err := h.dialFrom(t, "127.0.0.2"); err == nil || !strings.Contains(err.Error(), "Too many connections") {
		t.Errorf("one connection too many: %v", err)
	}
	begin := func(c *smtp.Client) (interface{ Write([]byte) (int, error) }, error) {
		w, err := func() (*smtp.DataCommand, error) {
			if err := errors.Join(c.Mail("eve@evil.test", nil), c.Rcpt("notes@bots.example.test", nil)); err != nil {
				return nil, err
			}
			return c.Data()
		}()
		if err == nil {
			_, err = w.Write([]byte("From: eve@evil.test\r\n"))
		}
		return w, err
	}
	for _, c := range clients[:receivingOf] {
		if _, err := begin(c); err != nil {
			t.Fatal(err)
		}
	}
	free := func(units int64) bool {
		release, err := h.server.slots.TryAcquire("127.0.0.2", units)
		if err == nil {
			release()
		}
		return err == nil
	}
	await.Until(t, "both messages are being received", func() bool { return !free(1) })
	if err := clients[receivingOf].SendMail("eve@evil.test", []string{"notes@bots.example.test"},
		strings.NewReader("From: eve@evil.test\r\n\r\n")); code(err) != 451 {
		t.Errorf("one message too many: %v", err)
	}
	for range connectionsOf + 1 { // a trusted client has no share
		c, err := h.dialFrom(t, "127.0.0.3")
		if err != nil {
			t.Fatal(err)
		}
		if err := c.SendMail("ada@example.test", []string{"notes@bots.example.test"}, bytes.NewReader(sample(t, "google-single"))); err != nil {
			t.Errorf("another client: %v", err)
		}
	}
	await.Until(t, "the slow messages are cut", func() bool { return free(receivingOf) })
}
