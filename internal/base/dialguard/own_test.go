package dialguard_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"net/url"
	"testing"
	"time"

	"standin/internal/base/dialguard"
	"standin/internal/testing/netns"
)

// TestOwnPublicAddress dials a public address of this machine, where services
// listen that firewalls hide from the internet.
func TestOwnPublicAddress(t *testing.T) {
	t.Parallel()
	if !netns.Inside(t, "8.8.4.4/24") {
		return
	}
	listener, err := net.Listen("tcp", "8.8.4.4:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	target := listener.Addr().String()

	_, err = new(dialguard.Guard).DialContext(t.Context(), "tcp", target)
	var refused *dialguard.RefusedError
	if !errors.As(err, &refused) || refused.Kind != "local machine" {
		t.Errorf("dial %s: %v", target, err)
	}
	allowed := &dialguard.Guard{Allow: []netip.Prefix{netip.MustParsePrefix("8.8.4.4/32")}}
	conn, err := allowed.DialContext(t.Context(), "tcp", target)
	if err != nil {
		t.Fatalf("dial the allowed address: %v", err)
	}
	_ = conn.Close()
	if allowed.IsPublic(t.Context(), netip.MustParseAddr("8.8.4.4")) {
		t.Error("an allowed address of this machine counts as public")
	}
}

// TestAddressOfOwnName dials what a name of this machine resolves to: behind a
// router, that is no address of its interfaces.
func TestAddressOfOwnName(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	guard := &dialguard.Guard{OwnHosts: []string{"8.8.8.8"}}
	for address, want := range map[string]bool{"8.8.8.8": false, "::ffff:8.8.8.8": false, "8.8.4.4": true, "10.0.0.1": false} {
		if public := guard.IsPublic(ctx, netip.MustParseAddr(address)); public != want {
			t.Errorf("%s is public: %v", address, public)
		}
	}
	var refused *dialguard.RefusedError
	if err := guard.CheckHost(ctx, "8.8.8.8"); !errors.As(err, &refused) {
		t.Errorf("the own address is admitted: %v", err)
	}
	if _, err := guard.DialContext(ctx, "tcp", "8.8.8.8:1"); !errors.As(err, &refused) {
		t.Errorf("dial the own address: %v", err)
	}
	guard.Allow = []netip.Prefix{netip.MustParsePrefix("8.8.8.8/32")}
	if err := guard.CheckHost(ctx, "8.8.8.8"); err != nil {
		t.Errorf("the allowed address is refused: %v", err)
	}
}

// TestOwnNameUnknown checks that nothing public is dialed while it is not known which addresses are
// those of this machine, but that a name that does not exist has none.
func TestOwnNameUnknown(t *testing.T) {
	t.Parallel()
	away := &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("the name server 10.0.0.53 is away")
	}}
	guard := &dialguard.Guard{OwnHosts: []string{"standin.example"}, Resolver: away}
	if guard.IsPublic(t.Context(), netip.MustParseAddr("8.8.8.8")) {
		t.Error("an address is public although it could be that of this machine")
	}
	if err := guard.CheckHost(t.Context(), "8.8.8.8"); err == nil {
		t.Error("an address is admitted although it could be that of this machine")
	}
}

// TestPublic checks that consumers read of no address, name server or URL.
func TestPublic(t *testing.T) {
	t.Parallel()
	server := &net.TCPAddr{IP: net.IPv4(10, 1, 2, 3), Port: 80}
	for want, err := range map[string]error{
		`host "files.example" is refused: it has a private address; STANDIN_WEBHOOK_ALLOW_CIDRS lists the networks that are allowed`: &dialguard.RefusedError{
			Host: "files.example", Address: "10.1.2.3", Kind: "private",
		},
		"lookup files.example: no such host": &net.DNSError{
			Name: "files.example", Server: "10.1.2.3:53", Err: "no such host", IsNotFound: true,
		},
		"lookup files.example: the name server did not answer": &net.DNSError{
			Name: "files.example", Server: "10.1.2.3:53", Err: "dial udp 10.1.2.3:53: refused",
		},
		"dial: connection refused":                     &net.OpError{Op: "dial", Net: "tcp", Addr: server, Err: errors.New("connection refused")},
		"it took too long":                             &url.Error{Op: "Get", URL: "http://10.1.2.3/?key=secret", Err: context.DeadlineExceeded},
		"the connection was closed without a response": &url.Error{Op: "Get", URL: "http://10.1.2.3/?key=secret", Err: io.EOF},
		"something else": &url.Error{
			Op: "Get", URL: "http://10.1.2.3/?key=secret", Err: errors.New("something else"),
		},
	} {
		if got := dialguard.Public(err); got != want {
			t.Errorf("%v is %q, want %q", err, got, want)
		}
	}
}
