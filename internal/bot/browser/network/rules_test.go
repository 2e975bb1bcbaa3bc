package network_test

import (
	"slices"
	"testing"

	"standin/internal/bot/browser/network"
)

func TestAllowedTargets(t *testing.T) {
	t.Parallel()
	got := network.AllowedTargets([]string{
		"127.0.0.1:8080", " meet.example.com ", "internal.example.com:8443", "localhost:80", "*.example.com", "", "[::1]", "[::1]:81",
		"10.1.2.3",
	})
	want := []string{
		"127.0.0.1:8080", "[::1]:443", "[::1]:80", "[::1]:81",
		"10.1.2.3:443", "10.1.2.3:80",
	}
	if !slices.Equal(got, want) {
		t.Errorf("targets %q, want %q", got, want)
	}
	start(t, network.ProxySettings{Allowed: got})
}
