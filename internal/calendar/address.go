package calendar

import (
	"net/url"
	"regexp"
	"strings"

	"standin/internal/job"
)

const (
	// maxAddressLength bounds what is taken for a meeting's address, in bytes.
	maxAddressLength = 8192
	// maxAddresses bounds how many addresses of one text are looked at.
	maxAddresses = 200
	// maxWrappings bounds redirectors inside redirectors.
	maxWrappings = 4
	// maxEncodings is how often links were seen to be percent-encoded
	// (platforms, "URL forms").
	maxEncodings = 3
)

// The paths at which a platform has meetings (platforms, "URL forms"). Others,
// such as Zoom's /u/ with telephone numbers and Teams' meetingOptions, are no
// meetings.
var (
	meetPath  = regexp.MustCompile(`^/[a-z]{3}-[a-z]{4}-[a-z]{3}/?$`)
	teamsPath = regexp.MustCompile(`^/(l/meetup-join/.|light-meetings/launch|dl/launcher/launcher\.html|meet/\d)`)
	zoomPath  = regexp.MustCompile(`^/(j|w|wc|my)/.`)
)

// FindMeeting returns the first meeting's address in a text, taken out of the
// redirectors that calendars and mail put around links, and its platform;
// false when there is none.
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

// addressEnd are the characters that end an address in running text.
const addressEnd = " \t\r\n\v\f<>\"'`\\|^{}\u00a0\u2028\u2029"

// nextAddress returns the first http or https address of a text and what
// follows it; more is false when there is none.
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

// maxTrimmed bounds how many layers of a sentence end an address.
const maxTrimmed = 16

// trimEnd cuts off what belongs to the sentence around an address.
func trimEnd(address string) string {
	for range maxTrimmed {
		trimmed := strings.TrimRight(address, ".,;:!*_")
		// A bracket that was not opened inside the address closes one around it.
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

// meetingAddress returns the meeting that an address leads to.
func meetingAddress(address string) (string, job.Platform, bool) {
	for range maxWrappings {
		if len(address) > maxAddressLength {
			return "", "", false
		}
		parsed, err := url.Parse(address)
		if err != nil || parsed.Hostname() == "" || !validMeetingURL(address) {
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

// unwrap returns where a redirector leads: Google's, which its calendar puts
// around links, and Microsoft's Safe Links, which its mail does.
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

// withScheme takes off as many percent-encodings as hide an address's scheme.
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

// isMeeting reports whether an address has the form of a platform's meetings.
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

// plainPath is a path in lower case and free of repeated percent-encoding.
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
