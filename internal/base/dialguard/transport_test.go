package dialguard_test

import (
	"strings"
	"testing"

	"standin/internal/base/dialguard"
)

func TestParseNetworks(t *testing.T) {
	t.Parallel()
	tests := []struct {
		setting string
		want    string
	}{
		{"", ""},
		{" 10.1.0.0/16, 127.0.0.1,fd00::/8 ,", "10.1.0.0/16 127.0.0.1/32 fd00::/8"},
		{" , ", ""},
		{"10.1.2.3/8", "10.0.0.0/8"},
		{"192.168.1.7", "192.168.1.7/32"},
		{"::1", "::1/128"},
		{"10.0.0.0/8,::1/128", "10.0.0.0/8 ::1/128"},
		{"10.0.0.0/33", "error"},
		{"localhost", "error"},
		{"fe80::1%eth0", "error"},
	}
	for _, test := range tests {
		prefixes, err := dialguard.ParseNetworks(test.setting)
		var words []string
		for _, prefix := range prefixes {
			words = append(words, prefix.String())
		}
		got := strings.Join(words, " ")
		if err != nil {
			got = "error"
		}
		if got != test.want {
			t.Errorf("ParseNetworks(%q) = %s, %v; want %s", test.setting, got, err, test.want)
		}
	}
}

func TestParseProxy(t *testing.T) {
	t.Parallel()
	for setting, host := range map[string]string{"": "", "http://proxy.test:3128": "proxy.test:3128", "https://u:p@proxy.test": "proxy.test"} {
		proxy, err := dialguard.ParseProxy(setting)
		if err != nil || (proxy == nil) != (host == "") || proxy != nil && proxy.Host != host {
			t.Errorf("ParseProxy(%q) = %v, %v", setting, proxy, err)
		}
	}
	for _, setting := range []string{"proxy.test:3128", "socks5://proxy.test", "http://", "http://u:p4ss@proxy.test:port"} {
		if proxy, err := dialguard.ParseProxy(setting); err == nil || strings.Contains(err.Error(), "p4ss") {
			t.Errorf("ParseProxy(%q) = %v, %v", setting, proxy, err)
		}
	}
}
