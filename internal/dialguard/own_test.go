package dialguard_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"testing"
	"time"

	"standin/internal/dialguard"
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
