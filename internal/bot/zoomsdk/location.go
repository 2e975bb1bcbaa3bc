package zoomsdk

import (
	"fmt"
	"net/url"
	"strings"

	"standin/internal/bot/meeting"
)

// governmentDomain is the domain of Zoom for Government, a separate service.
const governmentDomain = "zoomgov.com"

// location is the data that the SDK needs to join a meeting.
type location struct {
	url      string // the meeting's own URL, which the bot does not open
	number   string
	passcode string
	token    string // token of a registrant
	service  string // host of Zoom's service; empty for the default one
}

// locate parses a meeting URL with the web client's adapter, which removes
// redirectors. The error is a *meeting.AddressError.
func locate(web meeting.Adapter, meetingURL string) (location, error) {
	address, err := web.Address(meetingURL)
	if err != nil {
		return location{}, err
	}
	parsed, err := url.Parse(address.URL)
	if err != nil {
		return location{}, &meeting.AddressError{Reason: "it cannot be parsed"} // the parser's own message repeats it
	}
	number := meeting.ZoomNumber(parsed.Path)
	if number == "" {
		return location{}, &meeting.AddressError{
			Reason: "it holds no meeting number, and Zoom's Meeting SDK joins by number only",
		}
	}
	found := location{url: address.URL, number: number, passcode: address.Passcode, token: parsed.Query().Get("tk")}
	if host := strings.ToLower(parsed.Hostname()); host == governmentDomain || strings.HasSuffix(host, "."+governmentDomain) {
		found.service = "www." + governmentDomain
	}
	return found, nil
}

// String returns the meeting's number without its passcode.
func (l location) String() string { return fmt.Sprintf("Zoom meeting %s", l.number) }
