package calendar_test

import (
	"testing"

	"standin/internal/calendar"
	"standin/internal/job"
)

func TestFindMeeting(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text     string
		address  string // empty: none
		platform job.Platform
	}{
		"Meet":                   {"https://meet.google.com/abc-defg-hij", "https://meet.google.com/abc-defg-hij", job.Meet},
		"Meet with more":         {"HTTPS://Meet.Google.com/abc-defg-hij?authuser=0#x", "https://Meet.Google.com/abc-defg-hij?authuser=0#x", job.Meet},
		"Meet's front page":      {"https://meet.google.com/", "", ""},
		"another site":           {"https://example.test/abc-defg-hij", "", ""},
		"Meet in another's path": {"https://evil.test/meet.google.com/abc-defg-hij", "", ""},
		"Meet as a user":         {"https://meet.google.com@evil.test/abc-defg-hij", "", ""},
		"Google's redirector":    {"https://www.google.com/url?q=https%3A%2F%2Fmeet.google.com%2Fabc-defg-hij&sa=D&ust=1", "https://meet.google.com/abc-defg-hij", job.Meet},
		"redirectors in each other": {
			"https://eur01.safelinks.protection.outlook.com/?url=https%3A%2F%2Fwww.google.com%2Furl%3Furl%3Dhttps%253A%252F%252Fmeet.google.com%252Fabc-defg-hij",
			"https://meet.google.com/abc-defg-hij", job.Meet,
		},
		"Teams": {
			"https://teams.microsoft.com/l/meetup-join/19%3ameeting_x%40thread.v2/0?context=%7b%7d",
			"https://teams.microsoft.com/l/meetup-join/19%3ameeting_x%40thread.v2/0?context=%7b%7d", job.Teams,
		},
		"Teams, encoded twice": {
			"https://teams.microsoft.com/l%252Fmeetup-join%252F19%253ameeting_x", "https://teams.microsoft.com/l%252Fmeetup-join%252F19%253ameeting_x", job.Teams,
		},
		"Teams, v2":        {"https://teams.microsoft.com/v2/?meetingjoin=true#/l/meetup-join/19", "https://teams.microsoft.com/v2/?meetingjoin=true#/l/meetup-join/19", job.Teams},
		"Teams, launcher":  {"https://teams.microsoft.com/dl/launcher/launcher.html?url=%2F_%23%2Fl", "https://teams.microsoft.com/dl/launcher/launcher.html?url=%2F_%23%2Fl", job.Teams},
		"Teams, light":     {"https://teams.microsoft.com/light-meetings/launch?coords=e30", "https://teams.microsoft.com/light-meetings/launch?coords=e30", job.Teams},
		"Teams, old":       {"https://teams.microsoft.com/_#/l/meetup-join/19", "https://teams.microsoft.com/_#/l/meetup-join/19", job.Teams},
		"Teams, short":     {"https://teams.microsoft.com/meet/12345678?p=abc", "https://teams.microsoft.com/meet/12345678?p=abc", job.Teams},
		"Teams, at home":   {"https://teams.live.com/meet/9312345678", "https://teams.live.com/meet/9312345678", job.Teams},
		"Teams, US clouds": {"https://gov.teams.microsoft.us/l/meetup-join/19", "https://gov.teams.microsoft.us/l/meetup-join/19", job.Teams},
		"Teams' options":   {"https://teams.microsoft.com/meetingOptions/?organizerId=1", "", ""},
		"Zoom":             {"https://zoom.us/j/123?pwd=a.1", "https://zoom.us/j/123?pwd=a.1", job.ZoomWeb},
		"Zoom, a vanity":   {"https://acme.zoom.us/my/room", "https://acme.zoom.us/my/room", job.ZoomWeb},
		"Zoom, webinar":    {"https://us02web.zoom.us/w/123?tk=x", "https://us02web.zoom.us/w/123?tk=x", job.ZoomWeb},
		"Zoom, web client": {"https://app.zoom.us/wc/123/join?pwd=x", "https://app.zoom.us/wc/123/join?pwd=x", job.ZoomWeb},
		"Zoom, events":     {"https://events.zoom.us/ev/abc", "https://events.zoom.us/ev/abc", job.ZoomWeb},
		"Zoom's numbers":   {"https://zoom.us/u/abc", "", ""},
		"the first of two": {"https://zoom.us/u/abc or https://zoom.us/j/1 or https://zoom.us/j/2", "https://zoom.us/j/1", job.ZoomWeb},
		"in a sentence":    {"Come (https://zoom.us/j/1). Or not.", "https://zoom.us/j/1", job.ZoomWeb},
		"in brackets":      {"Join<https://zoom.us/j/1>", "https://zoom.us/j/1", job.ZoomWeb},
		"brackets inside":  {"https://zoom.us/j/1?x=(y)", "https://zoom.us/j/1?x=(y)", job.ZoomWeb},
		"glued to a word":  {"Link:https://zoom.us/j/1", "https://zoom.us/j/1", job.ZoomWeb},
		"all encoded":      {"https%253A%252F%252Fzoom.us%252Fj%252F1", "https://zoom.us/j/1", job.ZoomWeb},
		"another scheme":   {"zoommtg://zoom.us/join?confno=1 ftp://zoom.us/j/1", "", ""},
		"no scheme":        {"zoom.us/j/1", "", ""},
		"nothing":          {"", "", ""},
		"a percent sign":   {"100% https://zoom.us/j/1", "https://zoom.us/j/1", job.ZoomWeb},
	}
	for name, test := range tests {
		address, platform, found := calendar.FindMeeting(test.text)
		if address != test.address || platform != test.platform || found != (test.address != "") {
			t.Errorf("%s: %q, %q, %v, want %q, %q", name, address, platform, found, test.address, test.platform)
		}
	}
}
