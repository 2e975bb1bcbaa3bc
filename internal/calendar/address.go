package calendar

import (
	"html"
	"iter"
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
	links, _ := linksIn(text, allowedHosts)
	if len(links) == 0 {
		return "", "", false
	}
	best := bestOf(links)
	return best.URL.String(), best.Platform, true
}

// FindMeetings returns the URLs of the different meetings in a text or HTML, in the
// form of FindMeeting. If there are none, problem is as Event.LinkProblem.
func FindMeetings(text string, allowedHosts ...string) (addresses []string, problem string) {
	links, problem := linksIn(text, allowedHosts)
	for _, link := range links {
		addresses = AddMeeting(addresses, link.URL.String())
	}
	return addresses, problem
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

// linksIn returns the meeting links in a text or HTML, or else why no bot can join by the
// first known one, as Event.LinkProblem. If there are no links, it looks for them in the text
// without percent-encodings.
func linksIn(text string, allowedHosts []string) (links []meetinglink.Link, problem string) {
	if strings.Contains(text, "&") {
		text = entity.ReplaceAllStringFunc(text, html.UnescapeString)
	}
	text = strings.ReplaceAll(text, "](", " ") // between the text and the address of a Markdown link
	text = spacedNumber.ReplaceAllString(text, "$1$2$3")
	for range 1 + maxEncodings {
		for candidate := range candidates(text) {
			link, err := resolve(candidate, allowedHosts)
			switch {
			case err != nil:
			case link.Warning == "":
				links = append(links, link)
			case problem == "" && meetinglink.IsKnown(link.URL):
				problem = link.Warning
			}
		}
		decoded, err := url.PathUnescape(text)
		if len(links) > 0 || err != nil || decoded == text {
			break
		}
		text = decoded
	}
	if len(links) > 0 {
		problem = ""
	}
	return links, problem
}

// resolve resolves the link that begins a text without spaces. People write further
// locations after a comma or semicolon; redirectors have these in links.
func resolve(text string, allowedHosts []string) (meetinglink.Link, error) {
	if end := strings.IndexAny(text, ",;"); end >= 0 {
		if link, err := meetinglink.Resolve(text[:end], allowedHosts...); err == nil && link.Warning == "" {
			return link, nil
		}
	}
	return meetinglink.Resolve(text, allowedHosts...)
}

// entity is an HTML entity. Those without a semicolon are kept: &copy may be a query
// parameter.
var entity = regexp.MustCompile(`&(#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z]{2,31});`)

// spacedNumber is the number of a Zoom meeting as people write it, in a link.
var spacedNumber = regexp.MustCompile(`(?i)(zoom[a-z.]*/(?:j|w|s|wc/join)/\d{3}) (\d{3,4}) (\d{3,4})\b`)

// candidates yields what may be a URL in a text: the first one with the scheme http, https
// or zoommtg in each run of characters of URLs, or a run that has a slash but no scheme.
func candidates(text string) iter.Seq[string] {
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
	for _, scheme := range []string{"https://", "http://", "zoommtg://"} {
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
