package webhook

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// allowSetting is the setting that admits networks the dial guard refuses.
const allowSetting = "STANDIN_WEBHOOK_ALLOW_CIDRS"

// ParseAllow parses the setting: CIDRs or single addresses, separated by
// commas.
func ParseAllow(setting string) ([]netip.Prefix, error) {
	var allow []netip.Prefix
	for part := range strings.SplitSeq(setting, ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		if !strings.Contains(part, "/") {
			if addr, err := netip.ParseAddr(part); err == nil {
				part += "/" + strconv.Itoa(addr.BitLen())
			}
		}
		prefix, err := netip.ParsePrefix(part)
		if err != nil {
			return nil, fmt.Errorf("parse %s: %w", allowSetting, err)
		}
		allow = append(allow, prefix.Masked())
	}
	return allow, nil
}

// ParseProxy parses the URL of a forward proxy. It returns nil for an empty
// setting.
func ParseProxy(setting string) (*url.URL, error) {
	if setting == "" {
		return nil, nil
	}
	proxy, err := url.Parse(setting)
	if err != nil || proxy.Host == "" || proxy.Scheme != "http" && proxy.Scheme != "https" {
		return nil, errors.New("the webhook proxy is not an http or https URL") // the URL may contain a password
	}
	return proxy, nil
}
