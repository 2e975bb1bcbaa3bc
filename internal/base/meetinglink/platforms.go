package meetinglink

import (
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"standin/internal/jobs/job"
)

var (
	meetHosts  = []string{"meet.google.com"}
	teamsHosts = []string{
		"teams.microsoft.com", "teams.live.com", "teams.microsoft.us", "teams.cloud.microsoft", "teams.microsoftonline.cn",
	}
	zoomHosts = []string{"zoom.us", "zoom.com", "zoomgov.com", "zoom.com.cn"}
)

// platformOf returns the platform of a meeting URL by its host: Zoom's and Microsoft's own
// domains, then a label that starts with zoom or teams, else Meet. The path is ignored, and so
// are redirectors.
func platformOf(meeting *url.URL) job.Platform {
	host := HostOf(meeting)
	switch {
	case InDomain(host, "zoom.us", "zoom.com"):
		return job.ZoomWeb
	case InDomain(host, "teams.microsoft.com", "teams.live.com", "teams.microsoft.us"):
		return job.Teams
	case InDomain(host, "zoominfo.com"): // another company
		return job.Meet
	}
	for label := range strings.SplitSeq(host, ".") {
		switch {
		case strings.HasPrefix(label, "zoom"):
			return job.ZoomWeb
		case strings.HasPrefix(label, "teams"):
			return job.Teams
		}
	}
	return job.Meet
}

// IsPlatform reports whether a URL is on a host of a meeting platform.
func IsPlatform(address *url.URL) bool { return isPlatformHost(HostOf(address)) }

func isPlatformHost(host string) bool {
	return InDomain(host, slices.Concat(meetHosts, teamsHosts, zoomHosts)...) || host == "g.co"
}

var (
	meetCode       = regexp.MustCompile(`^([a-z]{3})-?([a-z]{4})-?([a-z]{3})$`)
	meetLookup     = regexp.MustCompile(`^/lookup/[^/]+/?$`)
	meetPage       = regexp.MustCompile(`^/?(new|landing)?/?$`)
	teamsMeeting   = regexp.MustCompile(`^/(l/meetup-join/.|light-meetings/launch|dl/launcher/launcher\.html|meet/\d|_#?/l/meetup-join/.)`)
	zoomMeeting    = regexp.MustCompile(`^/(j|w|s|wc|my|launch)/.`)
	zoomSpacedPath = regexp.MustCompile(`^/(j|w|s|wc|wc/join)/[\d ]+`)
	zoomByNumber   = regexp.MustCompile(`^/(j|w|s|wc/join)/`)
	zoomNumber     = regexp.MustCompile(`^/(j|w|s|wc|wc/join)/([\d -]+)(.*)$`)
)

// repair rewrites known defective spellings of meeting links.
func repair(link *Link) {
	host := HostOf(link.URL)
	switch {
	case host == "g.co" && strings.HasPrefix(link.URL.Path, "/meet/"):
		link.URL.Scheme, link.URL.Host, link.URL.Path, link.URL.RawPath = "https", meetHosts[0], strings.TrimPrefix(link.URL.Path, "/meet"), ""
		repair(link)
	case InDomain(host, meetHosts...):
		if code := meetingCode(link.URL.Path); code != "" {
			link.URL.Path, link.URL.RawPath = "/"+code, ""
		}
	case InDomain(host, zoomHosts...):
		repairZoom(link.URL)
	case InDomain(host, teamsHosts...):
		query := link.URL.Query()
		if context := query.Get("context"); strings.HasPrefix(context, "{") && strings.ContainsAny(link.URL.RawQuery, `{}"`) {
			link.URL.RawQuery = query.Encode() // JSON that was pasted unencoded
		}
	}
}

// meetingCode returns the code of a Google Meet meeting in a path, with hyphens; empty without one.
// Other parts of the path may be before it, such as the number of an account in /u/1/abc-defg-hij.
// A code without hyphens is the last part. The names of lookups may look like codes.
func meetingCode(path string) string {
	parts := strings.Split(strings.Trim(strings.ToLower(path), "/"), "/")
	for i, part := range parts {
		code := meetCode.FindStringSubmatch(part)
		if code != nil && parts[0] != "lookup" && (i == len(parts)-1 || strings.Contains(part, "-")) {
			return strings.Join(code[1:], "-")
		}
	}
	return ""
}

// separators removes what people write between the digits of a meeting number.
var separators = strings.NewReplacer(" ", "", "-", "")

// repairZoom removes spaces and hyphens from the meeting number, and rewrites
// /j/<number>&pwd= and /join?confno=<number>.
func repairZoom(address *url.URL) {
	if path, parameters, found := strings.Cut(address.Path, "&"); found && zoomNumber.MatchString(path) {
		address.Path, address.RawPath = path, ""
		if address.RawQuery != "" {
			parameters += "&" + address.RawQuery
		}
		address.RawQuery = parameters
	}
	if parts := zoomNumber.FindStringSubmatch(address.Path); parts != nil {
		if number := separators.Replace(parts[2]); number != "" {
			address.Path, address.RawPath = "/"+parts[1]+"/"+number+parts[3], ""
		}
	}
	query := address.Query()
	number := separators.Replace(query.Get("confno"))
	if strings.Trim(address.Path, "/") == "join" && number != "" && strings.Trim(number, "0123456789") == "" {
		query.Del("confno")
		query.Del("action")
		address.Path, address.RawPath, address.RawQuery = "/j/"+number, "", query.Encode()
	}
}

// warning returns why nobody can join the link, or "", and whether a bot has to find out.
func warning(link Link, allowedHosts []string) (text string, unsure bool) {
	host := HostOf(link.URL)
	path := decodedPath(link.URL.Path)
	switch {
	case HostAllowed(link.URL, allowedHosts):
		return "", false
	case InDomain(host, meetHosts...):
		if meetingCode(path) == "" && !meetLookup.MatchString(path) { // it may be a nickname
			return "This Google Meet link has no meeting code, as in https://meet.google.com/abc-defg-hij.", !meetPage.MatchString(path)
		}
	case InDomain(host, teamsHosts...):
		switch {
		case InDomain(host, "events.teams.microsoft.com"), strings.HasPrefix(path, "/registration/"):
			return "This Microsoft Teams" + registration, false
		case InDomain(host, "dialin.teams.microsoft.com"):
			return phoneList, false
		case !isTeamsMeeting(link.URL, path):
			return "This Microsoft Teams link is not a link to join a meeting.", false
		}
	case InDomain(host, zoomHosts...):
		switch {
		case strings.HasPrefix(path, "/u/"):
			return "This Zoom link lists telephone numbers. The link to join the meeting has /j/ in it.", false
		case strings.Contains(path, "/register/"):
			return "This Zoom" + registration, false
		case host != "events.zoom.us" && !zoomMeeting.MatchString(path), strings.Trim(path, "/") == "":
			return "This Zoom link is not a link to join a meeting.", false
		case zoomByNumber.MatchString(path) && !zoomNumber.MatchString(path):
			return "This Zoom link has no meeting number, as in https://zoom.us/j/1234567890.", false
		case hasPartOfNumber(path):
			return "The meeting number in this Zoom link does not have 9 to 11 digits, as in https://zoom.us/j/1234567890.", true
		}
	default:
		if reason := unsupported(host); reason != "" {
			return reason, false
		}
		return fmt.Sprintf("The host %s does not belong to a meeting platform. An operator can allow it with STANDIN_ALLOWED_MEETING_HOSTS.",
			host), false
	}
	return "", false
}

const (
	phoneList    = "This link lists telephone numbers. A bot needs the link to join by video."
	isHidden     = "The mail filter hides the address of this link. Use the original link, or exempt meeting links from the filter."
	registration = " link is a registration page. Register, and use the link in the confirmation."
)

// otherServices are the domains of meeting services that bots do not support.
var otherServices = map[string]string{
	"8x8.vc": "8x8", "adobeconnect.com": "Adobe Connect", "bluejeans.com": "BlueJeans", "chime.aws": "Amazon Chime",
	"dingtalk.com": "DingTalk", "discord.gg": "Discord", "facetime.apple.com": "FaceTime", "goto.com": "GoTo", "gotomeet.me": "GoTo",
	"gotomeeting.com": "GoTo", "gotowebinar.com": "GoTo", "join.skype.com": "Skype", "larksuite.com": "Lark", "livestorm.co": "Livestorm",
	"meet.jit.si": "Jitsi Meet", "meeting.tencent.com": "Tencent Meeting", "ringcentral.com": "RingCentral", "vc.feishu.cn": "Feishu",
	"voovmeeting.com": "VooV Meeting", "webex.com": "Webex", "whereby.com": "Whereby", "zoho.com": "Zoho", "zoho.eu": "Zoho",
	"zoho.in": "Zoho",
}

// otherPages are the domains of pages that hide the link to a meeting, with why no bot can join by them.
var otherPages = map[string]string{
	"calendly.com": "Calendly hides the link to the meeting behind its own page. Use the link that this page opens.", "tel.meet": phoneList,
	"cloud-security.net": isHidden, "defend.egress.com": isHidden, "hornetsecurity.com": isHidden, "mimecast.com": isHidden,
	"mimecastprotect.com": isHidden,
}

// unsupported returns why no bot can join by the links of a host; empty if the host is not
// known.
func unsupported(host string) (reason string) {
	for name := host; name != "" && reason == ""; _, name, _ = strings.Cut(name, ".") {
		if reason = otherPages[name]; otherServices[name] != "" {
			reason = otherServices[name] + " is not supported."
		}
	}
	return reason
}

// IsKnown reports whether a URL is on a host of a meeting platform or of what bots do not
// support, so that the Warning of its Link tells more than that.
func IsKnown(address *url.URL) bool { return IsPlatform(address) || unsupported(HostOf(address)) != "" }

// hasPartOfNumber reports whether a path has a number that a program has cut off, or that
// is too long for the 9 to 11 digits of Zoom's.
func hasPartOfNumber(path string) bool {
	parts := zoomNumber.FindStringSubmatch(path)
	return parts != nil && (len(parts[2]) < 9 || len(parts[2]) > 11)
}

func isTeamsMeeting(address *url.URL, path string) bool {
	return teamsMeeting.MatchString(path) ||
		strings.Trim(path, "/") == "_" && teamsMeeting.MatchString(decodedPath(strings.TrimPrefix(address.Fragment, "!"))) ||
		strings.HasPrefix(path, "/v2") && (strings.EqualFold(address.Query().Get("meetingjoin"), "true") ||
			teamsMeeting.MatchString(decodedPath(address.Fragment)))
}

// decodedPath returns a path in lower case without repeated percent-encodings.
func decodedPath(path string) string {
	for range maxEncodings {
		decoded, err := url.PathUnescape(path)
		if err != nil || decoded == path {
			break
		}
		path = decoded
	}
	return strings.ToLower(path)
}

// HostAllowed reports whether an entry of the operator's list of meeting hosts covers
// the URL. "example.com" covers the host on ports 80 and 443, "*.example.com" covers
// its subdomains on these ports, and "example.com:8443" covers one port. A port can
// follow "*.example.com" too.
func HostAllowed(address *url.URL, entries []string) bool {
	host, port := HostOf(address), address.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[strings.ToLower(address.Scheme)]
	}
	return slices.ContainsFunc(entries, func(entry string) bool {
		entry = strings.ToLower(strings.TrimSpace(entry))
		name, entryPort, err := net.SplitHostPort(entry)
		if err != nil {
			name = strings.TrimSuffix(strings.TrimPrefix(entry, "["), "]") // an IPv6 address in a URL
		}
		if entryPort != port && (entryPort != "" || port != "80" && port != "443") {
			return false
		}
		if domain, wildcard := strings.CutPrefix(name, "*"); wildcard {
			return strings.HasPrefix(domain, ".") && strings.HasSuffix(host, domain)
		}
		return name != "" && name == host
	})
}

// Warning returns a sentence that says why a link does not seem to lead to a meeting, or "".
func Warning(text string, allowedHosts ...string) string {
	_, warning := Describe(text, allowedHosts...)
	return warning
}

// Refusal returns why a link certainly leads to no meeting, so that no bot is sent, or "".
func Refusal(text string, allowedHosts ...string) string {
	if link, err := Resolve(text, allowedHosts...); err == nil && link.Unsure {
		return ""
	}
	return Warning(text, allowedHosts...)
}

// Describe returns PlatformOf and Warning of a link, which it resolves once.
func Describe(text string, allowedHosts ...string) (platform job.Platform, warning string) {
	link, err := Resolve(text, allowedHosts...)
	if err == nil {
		return link.Platform, link.Warning
	}
	warning = "The meeting link cannot be used: " + err.Error() + "."
	if parsed, err := url.Parse(strings.TrimSpace(text)); err == nil {
		return platformOf(parsed), warning
	}
	return job.Meet, warning
}

// PlatformOf returns the platform of a link, whether or not it can be joined:
// that of its target, or else of the text as a URL.
func PlatformOf(text string) job.Platform {
	platform, _ := Describe(text)
	return platform
}
