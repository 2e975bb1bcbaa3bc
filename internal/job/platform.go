package job

import (
	"net/url"
	"strings"
)

// Platform is the kind of meeting that a bot joins.
type Platform string

// The platforms.
const (
	Meet    Platform = "meet"
	Teams   Platform = "teams"
	ZoomWeb Platform = "zoom-web"
	ZoomSDK Platform = "zoom-sdk"
)

// Platforms returns all platforms.
func Platforms() []Platform { return []Platform{Meet, Teams, ZoomWeb, ZoomSDK} }

// PlatformOf returns the platform of a meeting URL by its host: Zoom's and
// Microsoft's own domains, then a label that starts with zoom or teams, else
// Meet. The path is ignored, and so are redirectors: package meetinglink resolves
// those.
func PlatformOf(meeting *url.URL) Platform {
	host := strings.TrimSuffix(strings.ToLower(meeting.Hostname()), ".")
	for _, suffix := range []string{"zoom.us", "zoom.com"} {
		if under(host, suffix) {
			return ZoomWeb
		}
	}
	// teams.microsoft.us is the government cloud: gov. and dod. stand before it.
	for _, suffix := range []string{"teams.microsoft.com", "teams.live.com", "teams.microsoft.us"} {
		if under(host, suffix) {
			return Teams
		}
	}
	if under(host, "zoominfo.com") { // another company
		return Meet
	}
	for label := range strings.SplitSeq(host, ".") {
		switch {
		case strings.HasPrefix(label, "zoom"):
			return ZoomWeb
		case strings.HasPrefix(label, "teams"):
			return Teams
		}
	}
	return Meet
}

// under reports whether host is domain or stands below it.
func under(host, domain string) bool {
	rest, found := strings.CutSuffix(host, domain)
	return found && (rest == "" || strings.HasSuffix(rest, "."))
}
