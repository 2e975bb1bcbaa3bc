package calendar_test

import (
	"testing"

	"standin/internal/calendar"
	"standin/internal/jobs/job"
)

func TestFindMeeting(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text     string
		address  string // empty: none
		platform job.Platform
	}{
		"Meet": {"https://meet.google.com/abc-defg-hij", "https://meet.google.com/abc-defg-hij", job.Meet},
		"Meet with more": {
			"HTTPS://Meet.Google.com/abc-defg-hij?authuser=0#x", "https://Meet.Google.com/abc-defg-hij?authuser=0#x", job.Meet,
		},
		"Meet's front page":      {"https://meet.google.com/", "", ""},
		"another site":           {"https://example.test/abc-defg-hij", "", ""},
		"Meet in another's path": {"https://evil.test/meet.google.com/abc-defg-hij", "", ""},
		"Meet as a user":         {"https://meet.google.com@evil.test/abc-defg-hij", "", ""},
		"Google's redirector": {
			"https://www.google.com/url?q=https%3A%2F%2Fmeet.google.com%2Fabc-defg-hij&sa=D&ust=1", "https://meet.google.com/abc-defg-hij",
			job.Meet,
		},
		"redirectors in each other": {
			"https://eur01.safelinks.protection.outlook.com/?url=https%3A%2F%2Fwww.google.com%2Furl%3Furl%3Dhttps%253A%252F%252Fmeet.google.com%252Fabc-defg-hij",
			"https://meet.google.com/abc-defg-hij", job.Meet,
		},
		"Teams": {
			"https://teams.microsoft.com/l/meetup-join/19%3ameeting_x%40thread.v2/0?context=%7b%7d",
			"https://teams.microsoft.com/l/meetup-join/19%3ameeting_x%40thread.v2/0?context=%7b%7d", job.Teams,
		},
		"Teams, encoded twice": {
			"https://teams.microsoft.com/l%252Fmeetup-join%252F19%253ameeting_x",
			"https://teams.microsoft.com/l%252Fmeetup-join%252F19%253ameeting_x", job.Teams,
		},
		"Teams, v2": {
			"https://teams.microsoft.com/v2/?meetingjoin=true#/l/meetup-join/19",
			"https://teams.microsoft.com/v2/?meetingjoin=true#/l/meetup-join/19", job.Teams,
		},
		"Teams, launcher": {
			"https://teams.microsoft.com/dl/launcher/launcher.html?url=%2F_%23%2Fl",
			"https://teams.microsoft.com/dl/launcher/launcher.html?url=%2F_%23%2Fl", job.Teams,
		},
		"Teams, light": {
			"https://teams.microsoft.com/light-meetings/launch?coords=e30", "https://teams.microsoft.com/light-meetings/launch?coords=e30",
			job.Teams,
		},
		"Teams, old":       {"https://teams.microsoft.com/_#/l/meetup-join/19", "https://teams.microsoft.com/_#/l/meetup-join/19", job.Teams},
		"Teams, short":     {"https://teams.microsoft.com/meet/12345678?p=abc", "https://teams.microsoft.com/meet/12345678?p=abc", job.Teams},
		"Teams, at home":   {"https://teams.live.com/meet/9312345678", "https://teams.live.com/meet/9312345678", job.Teams},
		"Teams, US clouds": {"https://gov.teams.microsoft.us/l/meetup-join/19", "https://gov.teams.microsoft.us/l/meetup-join/19", job.Teams},
		"Teams' options":   {"https://teams.microsoft.com/meetingOptions/?organizerId=1", "", ""},
		"Zoom":             {"https://zoom.us/j/81200000123?pwd=a.1", "https://zoom.us/j/81200000123?pwd=a.1", job.ZoomWeb},
		"Zoom, a vanity":   {"https://acme.zoom.us/my/room", "https://acme.zoom.us/my/room", job.ZoomWeb},
		"Zoom, webinar":    {"https://us02web.zoom.us/w/81200000123?tk=x", "https://us02web.zoom.us/w/81200000123?tk=x", job.ZoomWeb},
		"Zoom, web client": {"https://app.zoom.us/wc/81200000123/join?pwd=x", "https://app.zoom.us/wc/81200000123/join?pwd=x", job.ZoomWeb},
		"Zoom, events":     {"https://events.zoom.us/ev/abc", "https://events.zoom.us/ev/abc", job.ZoomWeb},
		"Zoom's numbers":   {"https://zoom.us/u/abc", "", ""},
		"the first of two": {"https://zoom.us/u/abc or https://zoom.us/j/81200000001 or https://zoom.us/j/81200000002", "https://zoom.us/j/81200000001", job.ZoomWeb},
		"in a sentence":    {"Come (https://zoom.us/j/81200000001). Or not.", "https://zoom.us/j/81200000001", job.ZoomWeb},
		"in brackets":      {"Join<https://zoom.us/j/81200000001>", "https://zoom.us/j/81200000001", job.ZoomWeb},
		"brackets inside":  {"https://zoom.us/j/81200000001?x=(y)", "https://zoom.us/j/81200000001?x=(y)", job.ZoomWeb},
		"glued to a word":  {"Link:https://zoom.us/j/81200000001", "https://zoom.us/j/81200000001", job.ZoomWeb},
		"all encoded":      {"https%253A%252F%252Fzoom.us%252Fj%252F81200000001", "https://zoom.us/j/81200000001", job.ZoomWeb},
		"another scheme":   {"ftp://zoom.us/j/81234567890", "", ""},
		"Zoom's app": {
			"Join:zoommtg://zoom.us/join?action=join&confno=83920174655&pwd=x", "https://zoom.us/j/83920174655?pwd=x", job.ZoomWeb,
		},
		"a spaced number": {"https://us06web.zoom.us/j/839 2017 4655?pwd=x", "https://us06web.zoom.us/j/83920174655?pwd=x", job.ZoomWeb},
		"a short number":  {"https://us06web.zoom.us/j/839 or", "", ""},
		"no scheme":       {"Room 3, us02web.zoom.us/j/81200000123?pwd=x", "https://us02web.zoom.us/j/81200000123?pwd=x", job.ZoomWeb},
		"no scheme, Meet": {"Ort:meet.google.com/abc-defg-hij", "https://meet.google.com/abc-defg-hij", job.Meet},
		"a mail address":  {"ann@zoom.us/j/1", "", ""},
		"another's host":  {"zoom.us.evil.test/j/1", "", ""},
		"Chinese brackets": {
			"会议链接：https://us02web.zoom.us/j/86012345678?pwd=QWxh.1（密码：123456）", "https://us02web.zoom.us/j/86012345678?pwd=QWxh.1", job.ZoomWeb,
		},
		"Chinese comma":   {"链接 https://meet.google.com/abc-defg-hij，请准时参加", "https://meet.google.com/abc-defg-hij", job.Meet},
		"Japanese stop":   {"https://us02web.zoom.us/j/81200000001?pwd=a.1。よろしく", "https://us02web.zoom.us/j/81200000001?pwd=a.1", job.ZoomWeb},
		"Japanese quotes": {"「https://meet.google.com/abc-defg-hij」", "https://meet.google.com/abc-defg-hij", job.Meet},
		"Chinese letters": {"加入https://meet.google.com/abc-defg-hij会议", "https://meet.google.com/abc-defg-hij", job.Meet},
		"Arabic":          {"https://zoom.us/j/81200000001، غرفة", "https://zoom.us/j/81200000001", job.ZoomWeb},
		"an ellipsis":     {"https://meet.google.com/abc-defg-hij…", "https://meet.google.com/abc-defg-hij", job.Meet},
		"a comma":         {"https://zoom.us/j/81200000001?pwd=a.1,Conference Room 3", "https://zoom.us/j/81200000001?pwd=a.1", job.ZoomWeb},
		"a semicolon":     {"https://meet.google.com/abc-defg-hij;Room 3", "https://meet.google.com/abc-defg-hij", job.Meet},
		"soft hyphens":    {"https://meet.google.com/abc-\u00addefg-hij", "https://meet.google.com/abc-defg-hij", job.Meet},
		"Markdown": {
			"[https://meet.google.com/abc-defg-hij](https://meet.google.com/abc-defg-hij)", "https://meet.google.com/abc-defg-hij", job.Meet,
		},
		"numeric entities": {"https:&#47;&#x2F;zoom.us&#47;j&#47;81200000001?pwd&#61;x&amp;tk=y", "https://zoom.us/j/81200000001?pwd=x&tk=y", job.ZoomWeb},
		"a copyright sign": {"https://zoom.us/j/81200000001?pwd=x&copy=1", "https://zoom.us/j/81200000001?pwd=x&copy=1", job.ZoomWeb},
		"no passcode first": {
			"https://zoom.us/j/123456789 or https://us02web.zoom.us/j/123456789?pwd=x", "https://us02web.zoom.us/j/123456789?pwd=x", job.ZoomWeb,
		},
		"cut off first": {
			"https://zoom.us/j/12345… https://zoom.us/j/123456789?pwd=QU... https://zoom.us/j/123456789?pwd=QUJD.1 https://zoom.us/j/987",
			"https://zoom.us/j/123456789?pwd=QUJD.1", job.ZoomWeb,
		},
		"other rooms": {"https://zoom.us/my/ada https://zoom.us/my/adam", "https://zoom.us/my/ada", job.ZoomWeb},
		"Safe Links of Teams": {
			"https://teams.public.onecdn.static.microsoft/evergreen-assets/safelinks/2/atp-safelinks.html?url=https%3A%2F%2Fmeet.google.com%2Fabc-defg-hij&locale=en", "https://meet.google.com/abc-defg-hij", job.Meet,
		},
		"Proofpoint":     {"https://urldefense.com/v3/__https://zoom.us/j/81200000001?pwd=x__;!!A!x$", "https://zoom.us/j/81200000001?pwd=x", job.ZoomWeb},
		"nothing":        {"", "", ""},
		"a percent sign": {"100% https://zoom.us/j/81200000001", "https://zoom.us/j/81200000001", job.ZoomWeb},
	}
	for name, test := range tests {
		address, platform, found := calendar.FindMeeting(test.text)
		if address != test.address || platform != test.platform || found != (test.address != "") {
			t.Errorf("%s: %q, %q, %v, want %q, %q", name, address, platform, found, test.address, test.platform)
		}
	}
}

// TestAllowedHosts checks that the operator's meeting hosts are found in calendars.
func TestAllowedHosts(t *testing.T) {
	t.Parallel()
	text := []byte(inEvent("DTSTART:20261120T100000Z", "COMMENT:Join https://zoom-x.de/j/123?pwd=x"))
	for allowed, want := range map[string]string{"zoom-x.de": "https://zoom-x.de/j/123?pwd=x", "example.test": ""} {
		parsed, err := calendar.ParseICS(text, nil, allowed)
		if err != nil || parsed.Events[0].MeetingURL != want {
			t.Errorf("%s: %+v, %v", allowed, parsed.Events, err)
		}
	}
}

// TestMeetingSources checks the properties of an event in which its link is found.
func TestMeetingSources(t *testing.T) {
	t.Parallel()
	for _, lines := range [][]string{
		{"SUMMARY:Weekly https://zoom.us/j/81200000123?pwd=x"}, {
			"COMMENT:https://zoom.us/j/81200000123?pwd=x",
		}, {"ATTACH:https://zoom.us/j/81200000123?pwd=x"}, {"LOCATION:zoom.us/j/81200000123?pwd=x"},
		{"LOCATION:https://zoom.us/j/81200000123", "DESCRIPTION:https://zoom.us/j/81200000099\\nhttps://zoom.us/j/81200000123?pwd=x"},
	} {
		parsed, err := calendar.ParseICS([]byte(inEvent(append(lines, "DTSTART:20261120T100000Z")...)), nil)
		if err != nil || parsed.Events[0].MeetingURL != "https://zoom.us/j/81200000123?pwd=x" {
			t.Errorf("%q: %+v, %v", lines, parsed.Events, err)
		}
	}
}
