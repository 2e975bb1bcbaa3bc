package dialguard

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"testing"
)

// TestGuardRefusesSpecialAddresses checks what a refusal says. TestEverySpecialAddressIsKnown has the kinds.
func TestGuardRefusesSpecialAddresses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		address string // without port
		kind    string // empty: public
	}{
		{"93.184.215.14", ""},
		{"10.0.0.5", "private"},
		{"127.0.0.1", "loopback"},
		{"169.254.169.254", "metadata"},
		{"::ffff:127.0.0.1", "v4-mapped"},
		{"2606:2800:21f::1%eth0", "zoned"},
	}
	for _, test := range tests {
		t.Run(test.address, func(t *testing.T) {
			t.Parallel()
			err := new(Guard).check(t.Context(), "receiver.example", net.JoinHostPort(test.address, "443"))
			if test.kind == "" {
				if err != nil {
					t.Errorf("refused: %v", err)
				}
				return
			}
			var blocked *RefusedError
			if !errors.As(err, &blocked) {
				t.Fatalf("check = %v", err)
			}
			shortest := netip.MustParseAddr(test.address).String()
			want := RefusedError{Host: "receiver.example", Address: shortest, Kind: test.kind}
			if *blocked != want {
				t.Errorf("refused as %+v, want %+v", *blocked, want)
			}
		})
	}
}

func TestGuardAllows(t *testing.T) {
	t.Parallel()
	var allow []netip.Prefix
	for _, network := range []string{"10.1.0.0/16", "127.0.0.1/32", "fd00::/8", "fe80::/10"} {
		allow = append(allow, netip.MustParsePrefix(network))
	}
	tests := []struct {
		address string
		allowed bool
	}{
		{"10.1.2.3", true},
		{"10.2.0.1", false},
		{"127.0.0.1", true},
		{"127.0.0.2", false},
		{"::ffff:127.0.0.1", false},
		{"::ffff:10.1.2.3", false},
		{"fd12::1", true},
		{"fe80::1", true},
		{"fe80::1%eth0", false},
		{"8.8.8.8", true},
	}
	for _, test := range tests {
		guard := &Guard{Allow: allow}
		err := guard.check(t.Context(), "receiver.example", net.JoinHostPort(test.address, "80"))
		if (err == nil) != test.allowed {
			t.Errorf("%s: %v, want allowed %v", test.address, err, test.allowed)
		}
	}
}

// A name is judged by what it resolves to, when the connection is made.
func TestGuardDials(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	loopback := &Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
	tests := []struct {
		name    string
		guard   *Guard
		host    string
		blocked bool
	}{
		{"an address", new(Guard), "127.0.0.1", true},
		{"a name", new(Guard), "localhost", true},
		{"every address of this machine", new(Guard), "0.0.0.0", true},
		{"allowed address", loopback, "127.0.0.1", false},
		{"allowed name", loopback, "localhost", false},
		{"allowed, but mapped", loopback, "::ffff:127.0.0.1", true},
		{"allowed, but a number", loopback, "2130706433", true},
		{"allowed, but zoned", loopback, "::1%lo", true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			conn, err := test.guard.DialContext(context.Background(), "tcp", net.JoinHostPort(test.host, port))
			if conn != nil {
				_ = conn.Close()
			}
			var blocked *RefusedError
			if errors.As(err, &blocked) != test.blocked || !test.blocked && err != nil {
				t.Fatalf("dial %s: %v, want blocked %v", test.host, err, test.blocked)
			}
			if test.blocked && blocked.Host != test.host {
				t.Errorf("refusal names host %q, want %q", blocked.Host, test.host)
			}
		})
	}
}
