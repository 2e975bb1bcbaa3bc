package meeting

import (
	"net"
	"net/url"
	"slices"
	"strings"
)

const (
	// maxAddressLength limits the length of an address, in bytes.
	maxAddressLength = 8192
	// maxEncodings is how often a link may be percent-encoded; three times was
	// seen in the wild.
	maxEncodings = 3
	// maxWrappings limits redirectors inside redirectors.
	maxWrappings = 4
)

// AddressError reports that a text is not the address of one meeting. Its message
// never repeats the address, which may hold a passcode.
type AddressError struct {
	Reason string
}

// Error returns the reason.
func (e *AddressError) Error() string { return "not a meeting address: " + e.Reason }

// twoAddressesError is the error for a text with more than one address.
func twoAddressesError() error { return &AddressError{Reason: "it holds more than one address"} }

// unwrapURL returns the one URL in a text, without redirectors and repeated
// percent-encoding.
func unwrapURL(text string) (*url.URL, error) {
	text = strings.TrimSpace(text)
	text = strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(text, "<"), ">"))
	if len(text) > maxAddressLength {
		return nil, &AddressError{Reason: "it is too long"}
	}
	for range maxWrappings {
		address, err := parseURL(text)
		if err != nil {
			return nil, err
		}
		parameters := redirectorParameters(address)
		if len(parameters) == 0 {
			return address, nil
		}
		text = firstValue(address.Query(), parameters...)
		if text == "" {
			return nil, &AddressError{Reason: "the redirector in it names no target"}
		}
	}
	return nil, &AddressError{Reason: "it is wrapped in too many redirectors"}
}

// parseURL parses one absolute http or https URL, after removing the
// percent-encodings that hide its scheme.
func parseURL(text string) (*url.URL, error) {
	for range maxEncodings {
		if hasWebScheme(text) {
			break
		}
		decoded, err := url.PathUnescape(text)
		if err != nil || decoded == text {
			break
		}
		text = decoded
	}
	if strings.ContainsAny(text, " \t\r\n<>\"") {
		return nil, twoAddressesError()
	}
	address, err := url.Parse(text)
	if err != nil {
		return nil, &AddressError{Reason: "it cannot be parsed"} // the parser's own text repeats the address
	}
	if !hasWebScheme(text) || address.Hostname() == "" {
		return nil, &AddressError{Reason: "it is not an http or https address with a host"}
	}
	if !asciiHost(address.Hostname()) {
		return nil, &AddressError{Reason: "its host is not written in plain letters"}
	}
	if containsURL(address.Path) {
		return nil, twoAddressesError()
	}
	return address, nil
}

// asciiHost reports whether a host is an IP address or plain ASCII without
// percent-encoding, so that every parser reads it alike.
func asciiHost(host string) bool {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_"
	return net.ParseIP(host) != nil || strings.Trim(host, plain) == "" && strings.Trim(host, ".") != ""
}

// hasWebScheme reports whether a text starts with http:// or https://.
func hasWebScheme(text string) bool {
	scheme, _, found := strings.Cut(text, "://")
	return found && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https"))
}

// containsURL reports whether a text contains http:// or https://.
func containsURL(text string) bool {
	text = strings.ToLower(text)
	return strings.Contains(text, "http://") || strings.Contains(text, "https://")
}

// redirectorParameters returns the query parameters that may hold the target of
// a redirector that calendars and mail programs put around links: google.com/url
// and the scanners of Outlook and of Teams. It returns none for other URLs.
func redirectorParameters(address *url.URL) []string {
	host := hostOf(address)
	switch {
	case strings.TrimPrefix(host, "www.") == "google.com" && address.Path == "/url":
		return []string{"q", "url"}
	case inDomain(host, "safelinks.protection.outlook.com"), inDomain(host, "safelinks.protection.office365.us"),
		host == "statics.teams.cdn.office.net" && strings.Contains(strings.ToLower(address.Path), "safelinks"):
		return []string{"url"}
	}
	return nil
}

// hostOf returns the normalized host of a URL, without its port.
func hostOf(address *url.URL) string {
	return strings.TrimSuffix(strings.ToLower(address.Hostname()), ".")
}

// inDomain reports whether host is one of the domains or a subdomain of one.
func inDomain(host string, domains ...string) bool {
	return slices.ContainsFunc(domains, func(domain string) bool {
		return host == domain || strings.HasSuffix(host, "."+domain)
	})
}

// firstValue returns the first value of any of the parameters that is not empty.
func firstValue(query url.Values, parameters ...string) string {
	for _, parameter := range parameters {
		for _, value := range query[parameter] {
			if value != "" {
				return value
			}
		}
	}
	return ""
}

// newAddress returns the Address of a URL, without the URL's user and password.
func newAddress(address *url.URL, passcode string) (Address, error) {
	address.User = nil
	text := address.String()
	switch {
	case len(text) > maxAddressLength:
		return Address{}, &AddressError{Reason: "it is too long"}
	case containsURL(passcode):
		return Address{}, twoAddressesError()
	}
	return Address{URL: text, Passcode: passcode}, nil
}
