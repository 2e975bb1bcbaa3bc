package meeting

import (
	"net/url"

	"standin/internal/base/meetinglink"
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

// errTwoAddresses is the error for a text with more than one address.
var errTwoAddresses = &AddressError{Reason: meetinglink.ErrManyURLs.Error()}

// newAddress returns the Address of a URL, without the URL's user and password.
// Punctuation that was hidden by percent-encoding is removed from its end.
func newAddress(address *url.URL, passcode string) (Address, error) {
	address.User = nil
	text := meetinglink.Clean(address.String())
	switch {
	case len(text) > maxAddressLength:
		return Address{}, &AddressError{Reason: "it is too long"}
	case meetinglink.ContainsURL(passcode):
		return Address{}, errTwoAddresses
	}
	return Address{URL: text, Passcode: passcode}, nil
}
