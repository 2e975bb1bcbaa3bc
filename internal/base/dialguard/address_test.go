package dialguard_test

import (
	"net/netip"
	"testing"

	"standin/internal/base/dialguard"
)

func TestEverySpecialAddressIsKnown(t *testing.T) {
	t.Parallel()
	tests := []struct {
		address string
		kind    string // empty: public
	}{
		{"93.184.215.14", ""},
		{"8.8.8.8", ""},
		{"100.63.255.255", ""},
		{"100.128.0.1", ""},
		{"172.15.255.255", ""},
		{"172.32.0.1", ""},
		{"198.20.0.1", ""},
		{"223.255.255.255", ""},
		{"2606:2800:21f:cb07:6820:80da:af6b:8b2c", ""},
		{"2a00:1450:4001:830::200e", ""},

		{"0.0.0.0", "unspecified"},
		{"0.1.2.3", "unspecified"},
		{"10.0.0.5", "private"},
		{"100.64.0.1", "carrier NAT"},
		{"100.100.100.200", "carrier NAT"},
		{"100.127.255.255", "carrier NAT"},
		{"127.0.0.1", "loopback"},
		{"127.255.255.254", "loopback"},
		{"168.63.129.16", "metadata"},
		{"169.254.169.254", "metadata"},
		{"169.254.170.2", "link-local"},
		{"172.16.0.1", "private"},
		{"172.31.255.255", "private"},
		{"192.0.0.192", "reserved"},
		{"192.0.2.1", "documentation"},
		{"192.88.99.1", "6to4 relay"},
		{"192.168.1.1", "private"},
		{"198.18.0.1", "benchmarking"},
		{"198.19.255.255", "benchmarking"},
		{"198.51.100.1", "documentation"},
		{"203.0.113.1", "documentation"},
		{"224.0.0.1", "multicast"},
		{"239.255.255.255", "multicast"},
		{"240.0.0.1", "reserved"},
		{"255.255.255.255", "broadcast"},

		{"::", "unspecified"},
		{"::1", "loopback"},
		{"::ffff:127.0.0.1", "v4-mapped"},
		{"::ffff:8.8.8.8", "v4-mapped"},
		{"::127.0.0.1", "v4-compatible"},
		{"::8.8.8.8", "v4-compatible"},
		{"::ffff:0:127.0.0.1", "not globally routed"}, // v4-translated
		{"64:ff9b::7f00:1", "NAT64"},
		{"64:ff9b::808:808", "NAT64"},
		{"64:ff9b:1::a00:1", "NAT64"},
		{"100::1", "discard"},
		{"2001::1", "Teredo"},
		{"2001:0:4136:e378:8000:63bf:3fff:fdd2", "Teredo"},
		{"2001:2::1", "benchmarking"},
		{"2001:20::1", "reserved"},
		{"2001:db8::1", "documentation"},
		{"2002:7f00:1::", "6to4"},
		{"2002:808:808::1", "6to4"},
		{"3fff::1", "documentation"},
		{"4000::1", "not globally routed"},
		{"5f00::1", "not globally routed"},
		{"fc00::1", "unique local"},
		{"fd00:ec2::254", "unique local"},
		{"fe80::1", "link-local"},
		{"fe80::1%eth0", "zoned"},
		{"2606:2800:21f::1%eth0", "zoned"},
		{"fec0::1", "site-local"},
		{"ff02::1", "multicast"},
	}
	for _, test := range tests {
		if kind := dialguard.SpecialPurpose(netip.MustParseAddr(test.address)); kind != test.kind {
			t.Errorf("%s is %q, want %q", test.address, kind, test.kind)
		}
	}
}

func TestHostsAreRefusedAsTheyStand(t *testing.T) {
	t.Parallel()
	tests := []struct {
		host    string
		refused bool
	}{
		{"2130706433", true},
		{"0x7f000001", true},
		{"0X7F000001", true},
		{"017700000001", true},
		{"0177.0.0.1", true},
		{"0x7f.0.0.1", true},
		{"127.1", true},
		{"127.0.0.1.", true},
		{"127.0.0.0x1", true},
		{"0", true},
		{"0x", true},
		{"1.2.3.4.5", true},
		{"256.1.1.1", true},
		{"example.com.1", true},
		{"::ffff:8.8.8.8", true},
		{"fe80::1%eth0", true},
		{"8.8.8.8", false},
		{"2606:2800:21f::1", false},
		{"example.com", false},
		{"example.com.", false},
		{"1.example", false},
		{"0xyz", false},
		{"localhost", false},
	}
	for _, test := range tests {
		if kind := dialguard.RefusedHost(test.host); (kind != "") != test.refused {
			t.Errorf("%s: refused %q, want refused %v", test.host, kind, test.refused)
		}
	}
}
