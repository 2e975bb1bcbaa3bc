package deploy_test

import (
	"flag"
	"net/netip"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"standin/internal/base/dialguard"
)

var update = flag.Bool("update", false, "write the networks of dialguard to the egress rules")

// TestEgressRulesMatchTheDialGuard checks that the networks that bots in containers
// cannot reach are those that the dial guard refuses. With -update it writes them.
func TestEgressRulesMatchTheDialGuard(t *testing.T) {
	t.Parallel()
	public6 := netip.MustParsePrefix("2000::/3")
	var private4, private6 []string
	for _, special := range dialguard.SpecialNetworks {
		network := special.Prefix
		switch {
		case slices.ContainsFunc(dialguard.SpecialNetworks, func(other dialguard.SpecialNetwork) bool {
			return other.Prefix.Bits() < network.Bits() && other.Prefix.Contains(network.Addr())
		}): // another one contains it
		case network.Addr().Is4():
			private4 = append(private4, network.String())
		case public6.Overlaps(network): // the rules drop everything outside
			private6 = append(private6, network.String())
		}
	}
	inline := func(networks []string) string { return strings.Join(networks, ", ") }
	block := func(networks []string) string { return "    - " + strings.Join(networks, "\n    - ") + "\n" }
	tests := []struct {
		file, before, after string // what surrounds the list
		want                string
	}{
		{"egress.nft", "type ipv4_addr\n\t\tflags interval\n\t\telements = { ", " }", inline(private4)},
		{"egress.nft", "type ipv6_addr\n\t\tflags interval\n\t\telements = { ", " }", inline(private6)},
		{"kubernetes/network.yaml", "cidr: 0.0.0.0/0\n            except: [", "]", inline(private4)},
		{"kubernetes/network.yaml", "cidr: 2000::/3\n            except: [", "]", inline(private6)},
		{"helm/standin/values.yaml", "  privateCIDRs:\n", "  #", block(private4)},
		{"helm/standin/values.yaml", "  privateCIDRs6:\n", "\ningress:", block(private6)},
	}
	for _, test := range tests {
		content, err := os.ReadFile(test.file)
		if err != nil {
			t.Fatal(err)
		}
		list := regexp.MustCompile(`(?s)(` + regexp.QuoteMeta(test.before) + `)(.*?)(` + regexp.QuoteMeta(test.after) + `)`)
		found := list.FindSubmatch(content)
		if found == nil {
			t.Errorf("%s contains no list after %q", test.file, test.before)
			continue
		}
		if string(found[2]) == test.want {
			continue
		}
		if !*update {
			t.Errorf("%s lists %q, want %q; run go test ./deploy -run %s -update", test.file, found[2], test.want, t.Name())
			continue
		}
		if err := os.WriteFile(test.file, list.ReplaceAll(content, []byte("${1}"+test.want+"${3}")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
