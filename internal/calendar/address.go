package calendar

import (
	"html"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"standin/internal/base/meetinglink"
	"standin/internal/jobs/job"
)

const (
	maxAddresses = 200 // addresses of a text that are examined
	maxEncodings = 3   // repeated percent-encodings
)

// FindMeeting returns the first meeting URL in a text or HTML, without the redirectors
// that calendars and mail put around links, and its platform. Of several URLs of this
// meeting, it returns the most complete one. allowedHosts are meeting hosts beside
// those of the platforms.
func FindMeeting(text string, allowedHosts ...string) (address string, platform job.Platform, found bool) {
	links := linksIn(text, allowedHosts)
	if len(links) == 0 {
		return "", "", false
	}
	best := bestOf(links)
	return best.URL.String(), best.Platform, true
}

// FindMeetings returns the URLs of the different meetings in a text or HTML, in the
// form of FindMeeting.
func FindMeetings(text string, allowedHosts ...string) []string {
	var addresses []string
	for _, link := range linksIn(text, allowedHosts) {
		addresses = AddMeeting(addresses, link.URL.String())
	}
	return addresses
}

// AddMeeting adds a meeting URL to those of different meetings. It replaces a less
// complete one of the same meeting.
func AddMeeting(addresses []string, address string) []string {
	at := slices.IndexFunc(addresses, func(other string) bool { return meetinglink.Same(other, address) })
	switch {
	case at < 0:
		addresses = append(addresses, address)
	case meetinglink.MoreComplete(address, addresses[at]):
		addresses[at] = address
	}
	return addresses
}

// bestOf returns the first link, or the most complete one of the same meeting.
func bestOf(links []meetinglink.Link) meetinglink.Link {
	best := links[0]
	for _, link := range links[1:] {
		if text := link.URL.String(); meetinglink.Same(best.URL.String(), text) && meetinglink.MoreComplete(text, best.URL.String()) {
			best = link
		}
	}
	return best
}

// linksIn returns the meeting links in a text or HTML. If there are none, it looks for
// them in the text without percent-encodings.
func linksIn(text string, allowedHosts []string) (links []meetinglink.Link) {
	text = plainText(text)
	for range 1 + maxEncodings {
		for candidate := range candidates(text) {
			if link, ok := resolve(candidate, allowedHosts); ok {
				links = append(links, link)
			}
		}
		decoded, err := url.PathUnescape(text)
		if len(links) > 0 || err != nil || decoded == text {
			break
		}
		text = decoded
	}
	return links
}

// resolve returns the meeting link that begins a text without spaces. People write
// further locations after a comma or semicolon; redirectors have these in links.
func resolve(text string, allowedHosts []string) (meetinglink.Link, bool) {
	if end := strings.IndexAny(text, ",;"); end >= 0 {
		if link, err := meetinglink.Resolve(text[:end], allowedHosts...); err == nil && link.Warning == "" {
			return link, true
		}
	}
	link, err := meetinglink.Resolve(text, allowedHosts...)
	return link, err == nil && link.Warning == ""
}

// entity is an HTML entity. Those without a semicolon are kept: &copy may be a query
// parameter.
var entity = regexp.MustCompile(`&(#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z]{2,31});`)

// plainText decodes HTML entities, and separates the text and the address of a
// Markdown link.
func plainText(text string) string {
	if strings.Contains(text, "&") {
		text = entity.ReplaceAllStringFunc(text, html.UnescapeString)
	}
	return strings.ReplaceAll(text, "](", " ")
}

// candidates yields what may be a URL in a text: the first one with the scheme http or
// https in each run of characters of URLs, or a run that has a slash but no scheme.
func candidates(text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		count := 0
		for run := range strings.FieldsFuncSeq(text, endsAddress) {
			candidate := addressIn(run)
			if candidate == "" {
				continue
			}
			if count++; count > maxAddresses || !yield(candidate) {
				return
			}
		}
	}
}

// addressIn returns the URL in a run of characters of URLs; empty if there is none.
func addressIn(run string) string {
	lower := strings.ToLower(run)
	begin := -1
	for _, scheme := range []string{"https://", "http://"} {
		if at := strings.Index(lower, scheme); at >= 0 && (begin < 0 || at < begin) {
			begin = at
		}
	}
	if begin >= 0 {
		return run[begin:]
	}
	host, _, found := strings.Cut(run, "/")
	if !found || strings.Contains(run, "://") || !strings.Contains(host, ".") {
		return ""
	}
	return run[1+strings.LastIndexAny(host, "([:=,;*"):] // after a label
}

// endsAddress reports whether a character cannot be part of a URL in running text. URLs
// are ASCII; characters that meetinglink removes may be within them.
func endsAddress(r rune) bool {
	if r < 0x80 {
		return r <= ' ' || r == 0x7f || strings.ContainsRune("<>\"'`\\|^{}", r)
	}
	return !strings.ContainsRune("\u200b\u200c\u200d\u2060\ufeff\u00ad\u200e\u200f\u2010\u2011", r)
}
