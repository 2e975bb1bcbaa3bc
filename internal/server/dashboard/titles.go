package dashboard

import (
	"net/url"
	"path"
	"strings"

	"github.com/google/uuid"

	"standin/internal/jobs/job"
)

// maxTitle bounds a title in characters. External IDs may be long.
const maxTitle = 120

// generatedIDs begin the external IDs that the service chooses.
var generatedIDs = []string{"dashboard-", "calendar-invite:", "calendar:"}

// jobTitle returns what people call a job: its title, which may be the subject of a
// calendar event, or its external ID, or else its meeting.
func jobTitle(j job.Job) string {
	if title := strings.TrimSpace(j.Title()); title != "" {
		return clip(title, maxTitle)
	}
	if ownID(j) {
		return clip(strings.TrimSpace(j.ExternalID), maxTitle)
	}
	return meetingName(j.MeetingURL)
}

// ownID reports whether a person may know the external ID of a job.
func ownID(j job.Job) bool {
	id := strings.TrimSpace(j.ExternalID)
	for _, prefix := range generatedIDs {
		if strings.HasPrefix(id, prefix) {
			return false
		}
	}
	return id != "" && uuid.Validate(id) != nil
}

// jobPlace returns the platform of a job's meeting and the code of the meeting, if the
// title does not say it.
func jobPlace(j job.Job) string {
	place := platformName(j.Platform)
	if code := meetingCode(j.MeetingURL); code != "" && jobTitle(j) != meetingName(j.MeetingURL) {
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
	return strings.Trim(clip(path.Base("/"+meeting.Path), 40), "/")
}

// meetingName shortens a meeting URL to its host and path.
func meetingName(address string) string {
	if meeting, err := url.Parse(address); err == nil && strings.Contains(meeting.Path, "/meetup-join/") {
		return "Microsoft Teams meeting" // the rest is a number of a hundred characters
	}
	_, rest, found := strings.Cut(address, "://")
	if !found {
		rest = address
	}
	rest, _, _ = strings.Cut(rest, "?")
	if decoded, err := url.PathUnescape(rest); err == nil {
		rest = decoded
	}
	if short := clip(rest, 60); short != rest {
		return short + "…"
	}
	return rest
}
