package calendar

import (
	"net/url"
	"regexp"
	"strings"

	"standin/internal/job"
)

const (
	maxAddressLength = 8192 // bytes of a meeting URL
	maxAddresses     = 200  // of one text that are examined
	maxWrappings     = 4    // nested redirectors
	maxEncodings     = 3    // repeated percent-encodings
)

// The paths of meetings. Others are not meetings, such as Zoom's /u/ with
// telephone numbers and Teams' meetingOptions.
var (
	meetPath  = regexp.MustCompile(`^/[a-z]{3}-[a-z]{4}-[a-z]{3}/?$`)
	teamsPath = regexp.MustCompile(`^/(l/meetup-join/.|light-meetings/launch|dl/launcher/launcher\.html|meet/\d)`)
	zoomPath  = regexp.MustCompile(`^/(j|w|wc|my)/.`)
)

// FindMeeting returns the first meeting URL in a text, without the redirectors
// that calendars and mail put around links, and its platform.
func FindMeeting(text string) (address string, platform job.Platform, found bool) {
	for range 1 + maxEncodings {
		if address, platform, found = findMeeting(text); found {
			break
		}
		decoded, err := url.PathUnescape(text)
		if err != nil || decoded == text {
			break
		}
		text = decoded
	}
	return address, platform, found
}

func findMeeting(text string) (address string, platform job.Platform, found bool) {
	for range maxAddresses {
		candidate, rest, more := nextAddress(text)
		if !more {
			break
		}
		text = rest
		if address, platform, found = meetingAddress(candidate); found {
			return address, platform, true
		}
	}
	return "", "", false
}

// addressEnd contains the characters that end a URL in running text.
const addressEnd = " \t\r\n\v\f<>\"'`\\|^{}\u00a0\u2028\u2029"

// nextAddress returns the first http or https URL of a text and the rest.
func nextAddress(text string) (address, rest string, more bool) {
	for offset := 0; ; {
		at := strings.Index(text[offset:], "://")
		if at < 0 {
			return "", "", false
		}
		at += offset
		begin := at
		for begin > 0 && isLetter(text[begin-1]) && at-begin < len("https") {
			begin--
		}
		scheme := strings.ToLower(text[begin:at])
		for _, known := range []string{"https", "http"} {
			if strings.HasSuffix(scheme, known) {
				begin = at - len(known)
				end := strings.IndexAny(text[at:], addressEnd)
				if end < 0 {
					end = len(text) - at
				}
				return trimEnd(text[begin : at+end]), text[at+end:], true
			}
		}
		offset = at + len("://")
	}
}

// maxTrimmed limits the rounds of trimEnd.
const maxTrimmed = 16

// trimEnd removes the punctuation of the sentence around a URL.
func trimEnd(address string) string {
	for range maxTrimmed {
		trimmed := strings.TrimRight(address, ".,;:!*_")
		// A bracket that was not opened inside the URL closes one around it.
		for _, pair := range []string{"()", "[]"} {
			if strings.HasSuffix(trimmed, pair[1:]) && strings.Count(trimmed, pair[:1]) < strings.Count(trimmed, pair[1:]) {
				trimmed = trimmed[:len(trimmed)-1]
			}
		}
		if trimmed == address {
			break
		}
		address = trimmed
	}
	return address
}

// meetingAddress returns the meeting URL that a URL leads to.
func meetingAddress(address string) (string, job.Platform, bool) {
	for range maxWrappings {
		if len(address) > maxAddressLength {
			return "", "", false
		}
		parsed, ok := parseMeetingURL(address)
		if !ok {
			return "", "", false
		}
		if inner, wrapped := unwrap(parsed); wrapped {
			address = withScheme(inner)
			continue
		}
		platform := job.PlatformOf(parsed)
		return address, platform, isMeeting(parsed, platform)
	}
	return "", "", false
}

// unwrap returns the target of a redirector: Google's, used by its calendar,
// or Microsoft's Safe Links, used by its mail.
func unwrap(address *url.URL) (string, bool) {
	host := strings.ToLower(address.Hostname())
	query := address.Query()
	switch {
	case (host == "google.com" || host == "www.google.com") && address.Path == "/url":
		if inner := query.Get("q"); inner != "" {
			return inner, true
		}
		return query.Get("url"), true
	case strings.HasSuffix(host, ".safelinks.protection.outlook.com"):
		return query.Get("url"), true
	}
	return "", false
}

// withScheme removes percent-encodings until the scheme is visible.
func withScheme(address string) string {
	for range maxEncodings {
		decoded, err := url.PathUnescape(address)
		if strings.Contains(address, "://") || err != nil {
			break
		}
		address = decoded
	}
	return address
}

// isMeeting reports whether a URL has the form of a meeting URL of the
// platform.
func isMeeting(address *url.URL, platform job.Platform) bool {
	host := strings.ToLower(address.Hostname())
	path := plainPath(address.Path)
	switch platform {
	case job.Meet:
		return host == "meet.google.com" && meetPath.MatchString(path)
	case job.Teams:
		return teamsPath.MatchString(path) ||
			path == "/_" && teamsPath.MatchString(plainPath(address.Fragment)) ||
			strings.HasPrefix(path, "/v2") && strings.EqualFold(address.Query().Get("meetingjoin"), "true")
	case job.ZoomWeb:
		return zoomPath.MatchString(path) || host == "events.zoom.us" && len(path) > 1
	}
	return false
}

// plainPath returns a path in lower case without repeated percent-encodings.
func plainPath(path string) string {
	for range maxEncodings {
		decoded, err := url.PathUnescape(path)
		if err != nil || decoded == path {
			break
		}
		path = decoded
	}
	return strings.ToLower(path)
}

func isLetter(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' }
