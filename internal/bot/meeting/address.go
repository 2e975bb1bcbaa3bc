package meeting

import (
	"net"
	"net/url"
	"slices"
	"strings"
)

const (
	// maxAddressLength bounds what is taken for an address, in bytes.
	maxAddressLength = 8192
	// maxEncodings is how many times links were seen to be percent-encoded
	// (platforms, "URL forms").
	maxEncodings = 3
	// maxWrappings bounds redirectors inside redirectors.
	maxWrappings = 4
)

// AddressError says that a text is not the address of one meeting. Its text
// never repeats the address, which may carry a passcode.
type AddressError struct {
	Reason string
}

// Error tells what is wrong.
func (e *AddressError) Error() string { return "not a meeting address: " + e.Reason }

// errTwoAddresses refuses to choose between meetings.
func errTwoAddresses() error { return &AddressError{Reason: "it holds more than one address"} }

// unwrap returns the one address that a text holds, taken out of redirectors
// and of repeated percent-encoding.
func unwrap(text string) (*url.URL, error) {
	text = strings.TrimSpace(text)
	text = strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(text, "<"), ">"))
	if len(text) > maxAddressLength {
		return nil, &AddressError{Reason: "it is too long"}
	}
	for range maxWrappings {
		address, err := parse(text)
		if err != nil {
			return nil, err
		}
		parameters := redirectorParameters(address)
		if len(parameters) == 0 {
			return address, nil
		}
		text = first(address.Query(), parameters...)
		if text == "" {
			return nil, &AddressError{Reason: "the redirector in it names no target"}
		}
	}
	return nil, &AddressError{Reason: "it is wrapped in too many redirectors"}
}

// parse reads a text as one absolute http or https address, after taking off as
// many percent-encodings as hide its scheme.
func parse(text string) (*url.URL, error) {
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
		return nil, errTwoAddresses()
	}
	address, err := url.Parse(text)
	if err != nil {
		return nil, &AddressError{Reason: "it cannot be parsed"} // the parser's own text repeats the address
	}
	if !hasWebScheme(text) || address.Hostname() == "" {
		return nil, &AddressError{Reason: "it is not an http or https address with a host"}
	}
	if !plainHost(address.Hostname()) {
		return nil, &AddressError{Reason: "its host is not written in plain letters"}
	}
	if holdsAddress(address.Path) {
		return nil, errTwoAddresses()
	}
	return address, nil
}

// plainHost reports whether a host is written so that everybody reads it alike:
// in ASCII, without percent-encoding.
func plainHost(host string) bool {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_"
	return net.ParseIP(host) != nil || strings.Trim(host, plain) == "" && strings.Trim(host, ".") != ""
}

// hasWebScheme reports whether a text begins as a web address does.
func hasWebScheme(text string) bool {
	scheme, _, found := strings.Cut(text, "://")
	return found && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https"))
}

// holdsAddress reports whether a web address begins anywhere in a text.
func holdsAddress(text string) bool {
	text = strings.ToLower(text)
	return strings.Contains(text, "http://") || strings.Contains(text, "https://")
}

// redirectorParameters recognises what calendars and mail programs put around
// links, and returns the parameters that may hold the target: google.com/url,
// and the scanners of Outlook and of Teams itself.
func redirectorParameters(address *url.URL) []string {
	host := hostOf(address)
	switch {
	case strings.TrimPrefix(host, "www.") == "google.com" && address.Path == "/url":
		return []string{"q", "url"}
	case below(host, "safelinks.protection.outlook.com"), below(host, "safelinks.protection.office365.us"),
		host == "statics.teams.cdn.office.net" && strings.Contains(strings.ToLower(address.Path), "safelinks"):
		return []string{"url"}
	}
	return nil
}

// hostOf is the host of an address as browsers know it, without its port.
func hostOf(address *url.URL) string {
	return strings.TrimSuffix(strings.ToLower(address.Hostname()), ".")
}

// below reports whether host is one of the domains or stands below it.
func below(host string, domains ...string) bool {
	return slices.ContainsFunc(domains, func(domain string) bool {
		return host == domain || strings.HasSuffix(host, "."+domain)
	})
}

// first returns the first value that one of the parameters has.
func first(query url.Values, parameters ...string) string {
	for _, parameter := range parameters {
		for _, value := range query[parameter] {
			if value != "" {
				return value
			}
		}
	}
	return ""
}

// finish writes an address out, without the credentials that would stand
// before its host.
func finish(address *url.URL, passcode string) (Address, error) {
	address.User = nil
	text := address.String()
	switch {
	case len(text) > maxAddressLength:
		return Address{}, &AddressError{Reason: "it is too long"}
	case holdsAddress(passcode):
		return Address{}, errTwoAddresses()
	}
	return Address{URL: text, Passcode: passcode}, nil
}
