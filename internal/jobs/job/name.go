package job

import (
	"cmp"
	"net/url"
	"path"
	"strings"

	"github.com/google/uuid"
)

// maxName bounds the name of a job in characters. External IDs may be long.
const maxName = 120

// generatedIDs begin the external IDs that the service and the command line choose.
var generatedIDs = []string{"dashboard-", "cli-", "calendar-invite:", "calendar:"}

// Name returns what people call a platform.
func (p Platform) Name() string {
	return cmp.Or(map[Platform]string{
		Meet: "Google Meet", Teams: "Microsoft Teams", ZoomWeb: "Zoom", ZoomSDK: "Zoom (media streams)",
	}[p], string(p))
}

// Name returns what people call a job, as NameOf does.
func (j Job) Name() string { return NameOf(j.Title(), j.ExternalID, j.Platform, j.MeetingURL) }

// NameOf returns what people call a job: its title, or the external ID that somebody chose, or
// else its platform and the code of its meeting.
func NameOf(title, externalID string, platform Platform, meetingURL string) string {
	for _, prefix := range generatedIDs {
		if strings.HasPrefix(externalID, prefix) {
			externalID = ""
		}
	}
	if uuid.Validate(externalID) == nil {
		externalID = ""
	}
	return Clip(cmp.Or(strings.TrimSpace(title), strings.TrimSpace(externalID),
		strings.TrimSpace(platform.Name()+" "+meetingCode(meetingURL))), maxName)
}

// Place returns the platform of a job's meeting and the code of the meeting, if the name does
// not say it.
func (j Job) Place() string {
	place := j.Platform.Name()
	if code := meetingCode(j.MeetingURL); code != "" && !strings.Contains(j.Name(), code) {
		place += " · " + code
	}
	return place
}

// meetingCode returns what identifies a meeting in its URL, if people know it.
func meetingCode(address string) string {
	meeting, err := url.Parse(address)
	if err != nil || strings.Contains(meeting.Path, "/meetup-join/") {
		return ""
	}
	return strings.Trim(Clip(path.Base("/"+meeting.Path), 40), "/")
}

// Clip shortens a text to a number of characters.
func Clip(text string, longest int) string {
	if runes := []rune(text); len(runes) > longest {
		return string(runes[:longest])
	}
	return text
}
