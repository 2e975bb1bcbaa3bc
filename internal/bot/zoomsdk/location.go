package zoomsdk

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"standin/internal/bot/meeting"
)

// governmentDomain is that of Zoom for Government, which is a service of its
// own.
const governmentDomain = "zoomgov.com"

// location is what the SDK must know of a meeting to join it.
type location struct {
	opened   string // the meeting's own address, which the bot does not open
	number   string
	passcode string
	token    string // of a registrant
	service  string // Zoom's service, when it is not the usual one
}

// pathNumber finds the meeting's number in the path of a Zoom address
// (platforms, "URL forms").
func pathNumber() *regexp.Regexp {
	return regexp.MustCompile(`^/(?:j|w|s|wc/join|wc)/(\d{9,12})(?:/(?:join|start)?)?/?$`)
}

// locate reads a meeting's address with the eyes of the web client's adapter,
// which takes off what mail programs put around it. The error is a
// *meeting.AddressError.
func locate(web meeting.Adapter, meetingURL string) (location, error) {
	address, err := web.Address(meetingURL)
	if err != nil {
		return location{}, err
	}
	parsed, err := url.Parse(address.URL)
	if err != nil {
		return location{}, &meeting.AddressError{Reason: "it cannot be parsed"} // the parser's own text repeats it
	}
	found := pathNumber().FindStringSubmatch(strings.ReplaceAll(parsed.Path, "-", ""))
	if found == nil {
		return location{}, &meeting.AddressError{
			Reason: "it holds no meeting number, and Zoom's Meeting SDK joins by number only",
		}
	}
	there := location{
		opened: address.URL, number: found[1], passcode: address.Passcode, token: parsed.Query().Get("tk"),
	}
	if host := strings.ToLower(parsed.Hostname()); host == governmentDomain || strings.HasSuffix(host, "."+governmentDomain) {
		there.service = "www." + governmentDomain
	}
	return there, nil
}

// String names the meeting without its passcode.
func (l location) String() string { return fmt.Sprintf("Zoom meeting %s", l.number) }
