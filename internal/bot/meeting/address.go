package meeting

import (
	"net/url"
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

// unwrap returns the one address that a text holds, taken out of Google's
// redirector and out of repeated percent-encoding.
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
		if !isGoogleRedirector(address) {
			return address, nil
		}
		text = address.Query().Get("q")
		if text == "" {
			text = address.Query().Get("url")
		}
		if text == "" {
			return nil, &AddressError{Reason: "the Google redirector in it names no target"}
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
		return nil, &AddressError{Reason: "it holds more than one address"}
	}
	address, err := url.Parse(text)
	if err != nil {
		return nil, &AddressError{Reason: "it cannot be parsed"} // the parser's own text repeats the address
	}
	if !hasWebScheme(text) || address.Hostname() == "" {
		return nil, &AddressError{Reason: "it is not an http or https address with a host"}
	}
	if path := strings.ToLower(address.Path); strings.Contains(path, "http://") || strings.Contains(path, "https://") {
		return nil, &AddressError{Reason: "it holds more than one address"}
	}
	return address, nil
}

// hasWebScheme reports whether a text begins as a web address does.
func hasWebScheme(text string) bool {
	scheme, _, found := strings.Cut(text, "://")
	return found && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https"))
}

// isGoogleRedirector recognises google.com/url, which Google's calendar and
// mail put around links.
func isGoogleRedirector(address *url.URL) bool {
	host := strings.TrimPrefix(strings.ToLower(address.Hostname()), "www.")
	return host == "google.com" && address.Path == "/url"
}
