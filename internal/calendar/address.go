package calendar

import (
	"net/url"
	"slices"
	"strings"

	"standin/internal/job"
	"standin/internal/meetinglink"
)

const (
	maxAddresses = 200 // addresses of a text that are examined
	maxEncodings = 3   // repeated percent-encodings
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
	for link := range meetings(text) {
		return link.URL.String(), link.Platform, true
	}
	return "", "", false
}

// FindMeetings returns the different meeting URLs in a text or HTML, in the
// form of FindMeeting.
func FindMeetings(text string) (addresses []string) {
	for link := range meetings(plainHTML.Replace(text)) {
		if address := link.URL.String(); !slices.Contains(addresses, address) {
			addresses = append(addresses, address)
		}
	}
	return addresses
}

// meetings yields the meeting links in a text.
func meetings(text string) func(yield func(meetinglink.Link) bool) {
	return func(yield func(meetinglink.Link) bool) {
		for range maxAddresses {
			candidate, rest, more := nextAddress(text)
			if !more {
				return
			}
			text = rest
			if link, err := meetinglink.Resolve(candidate); err == nil && link.Warning == "" && !yield(link) {
				return
			}
		}
	}
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
				return text[begin : at+end], text[at+end:], true
			}
		}
		offset = at + len("://")
	}
}

func isLetter(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' }
