package calendar

import (
	"strings"
	"time"

	"standin/internal/base/meetinglink"
	"standin/internal/jobs/job"
)

// Invitation is the meeting of a pasted invitation.
type Invitation struct {
	MeetingURL string
	Platform   job.Platform
	Start      time.Time // zero if the text does not contain a calendar
}

// ParseInvitation finds the meeting in pasted text: a calendar file, the text of
// an invitation, or a URL. If there is no meeting of a known platform, it returns
// the first http or https URL.
func ParseInvitation(text string) (Invitation, bool) {
	if at := strings.Index(text, "BEGIN:VCALENDAR"); at >= 0 {
		if parsed, err := ParseICS([]byte(strings.TrimSpace(text[at:])+"\n"), NewBudget(time.Time{})); err == nil {
			for _, event := range parsed.Events {
				if event.MeetingURL != "" && !event.Cancelled && event.Problem == "" {
					return Invitation{event.MeetingURL, event.Platform, event.Start}, true
				}
			}
		}
	}
	if link, err := meetinglink.Resolve(text); err == nil { // a link alone, which may have spaces or no scheme
		return Invitation{MeetingURL: link.URL.String(), Platform: link.Platform}, true
	}
	if address, platform, found := FindMeeting(text); found {
		return Invitation{MeetingURL: address, Platform: platform}, true
	}
	for address := range candidates(text) {
		if link, err := meetinglink.Resolve(address); err == nil {
			return Invitation{MeetingURL: link.URL.String(), Platform: link.Platform}, true
		}
	}
	return Invitation{}, false
}
