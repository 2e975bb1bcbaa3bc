package meetinglink_test

import (
	"net/url"
	"strings"
	"testing"

	"standin/internal/job"
	"standin/internal/meetinglink"
)

const (
	meet  = "https://meet.google.com/abc-defg-hij"
	zoom  = "https://zoom.us/j/81234567890"
	teams = "https://teams.microsoft.com/l/meetup-join/19%3ameeting_NmE%40thread.v2/0?context=%7b%22Tid%22%3a%22t%22%2c%22Oid%22%3a%22o%22%7d"
	// teamsConference is the conversation in the path of teams.
	teamsConference = "/l/meetup-join/19:meeting_NmE@thread.v2/0"
)

// outcomes of a link
const (
	ok      = "ok"
	warning = "warning"
	invalid = "invalid"
)

// link is a spelling of a meeting link.
type link struct {
	text     string
	platform job.Platform
	outcome  string
	path     string // of the target; empty: not compared
}

func escaped(text string) string { return url.QueryEscape(text) }

func links() []link {
	list := []link{
		// Google Meet
		{meet, job.Meet, ok, "/abc-defg-hij"},
		{"http://meet.google.com/abc-defg-hij", job.Meet, ok, "/abc-defg-hij"},
		{"HTTPS://MEET.GOOGLE.COM/ABC-DEFG-HIJ", job.Meet, ok, "/abc-defg-hij"},
		{"https://meet.google.com/abcdefghij", job.Meet, ok, "/abc-defg-hij"},
		{"https://meet.google.com/abc-defg-hij/", job.Meet, ok, "/abc-defg-hij"},
		{"https://meet.google.com/abc-defg-hij?authuser=1", job.Meet, ok, "/abc-defg-hij"},
		{"https://meet.google.com/abc-defg-hij?pli=1&hs=122", job.Meet, ok, "/abc-defg-hij"},
		{"https://meet.google.com/abc-defg-hij#x", job.Meet, ok, "/abc-defg-hij"},
		{"https://meet.google.com/_meet/abc-defg-hij?ijlm=1", job.Meet, ok, "/abc-defg-hij"},
		{"https://meet.google.com/lookup/weekly", job.Meet, ok, "/lookup/weekly"},
		{"https://g.co/meet/abc-defg-hij", job.Meet, ok, "/abc-defg-hij"},
		{"https://g.co/meet/weekly", job.Meet, warning, ""},
		{"meet.google.com/abc-defg-hij", job.Meet, ok, "/abc-defg-hij"},
		{"g.co/meet/abc-defg-hij", job.Meet, ok, "/abc-defg-hij"},
		{"https://meet.google.com/abc\u2011defg\u2011hij", job.Meet, ok, "/abc-defg-hij"},
		{"https://meet.google.com/abc\u2010defg\u2010hij", job.Meet, ok, "/abc-defg-hij"},
		{"https://meet.google.com/abc-\u200bdefg-hij", job.Meet, ok, "/abc-defg-hij"},
		{"https://meet.google.com", job.Meet, warning, ""},
		{"https://meet.google.com/", job.Meet, warning, ""},
		{"https://meet.google.com/new", job.Meet, warning, ""},
		{"https://meet.google.com/landing", job.Meet, warning, ""},
		{"https://meet.google.com/landing?authuser=0", job.Meet, warning, ""},
		{"https://meet.google.com/tel/abc-defg-hij?pin=123", job.Meet, warning, ""},
		{"https://meet.google.com/abc-defg", job.Meet, warning, ""},
		{"https://meet.google.com.evil.example/abc-defg-hij", job.Meet, warning, ""},
		{"https://meet.google.com@evil.example/abc-defg-hij", job.Meet, warning, ""},

		// Zoom
		{zoom, job.ZoomWeb, ok, "/j/81234567890"},
		{zoom + "?pwd=QUJDREVG.1", job.ZoomWeb, ok, "/j/81234567890"},
		{zoom + "?pwd=QUJD.1#success", job.ZoomWeb, ok, "/j/81234567890"},
		{"https://us02web.zoom.us/j/81234567890?pwd=x", job.ZoomWeb, ok, "/j/81234567890"},
		{"https://us06web.zoom.us/j/812345678901?pwd=x&omn=9", job.ZoomWeb, ok, "/j/812345678901"},
		{"https://acme.zoom.us/j/81234567890", job.ZoomWeb, ok, ""},
		{"https://acme.zoom.us/my/ada.lovelace", job.ZoomWeb, ok, "/my/ada.lovelace"},
		{"https://acme.zoom.us/my/ada?pwd=x", job.ZoomWeb, ok, ""},
		{"https://zoom.com/j/81234567890", job.ZoomWeb, ok, ""},
		{"https://us02web.zoom.us/w/81234567890?tk=abc", job.ZoomWeb, ok, ""},
		{"https://zoom.us/s/81234567890?zak=x", job.ZoomWeb, ok, ""},
		{"https://app.zoom.us/wc/81234567890/join?pwd=x", job.ZoomWeb, ok, ""},
		{"https://app.zoom.us/wc/join/81234567890", job.ZoomWeb, ok, "/wc/join/81234567890"},
		{"https://zoom.us/wc/join/812 3456 7890", job.ZoomWeb, ok, "/wc/join/81234567890"},
		{"https://events.zoom.us/ejl/AbC", job.ZoomWeb, ok, ""},
		{"https://zoomgov.com/j/1612345678", job.ZoomWeb, ok, "/j/1612345678"},
		{"https://www.zoomgov.com/j/1612345678?pwd=x", job.ZoomWeb, ok, ""},
		{"https://agency.zoomgov.com/j/1612345678", job.ZoomWeb, ok, ""},
		{"https://zoom.com.cn/j/81234567890", job.ZoomWeb, ok, ""},
		{"https://us02web.zoom.com.cn/j/81234567890?pwd=x", job.ZoomWeb, ok, ""},
		{"https://zoom.us/j/812 3456 7890", job.ZoomWeb, ok, "/j/81234567890"},
		{"https://zoom.us/j/812%203456%207890?pwd=x", job.ZoomWeb, ok, "/j/81234567890"},
		{"https://zoom.us/j/812-3456-7890", job.ZoomWeb, ok, "/j/81234567890"},
		{"https://zoom.us/j/812\u00a03456\u00a07890", job.ZoomWeb, ok, "/j/81234567890"},
		{"https://zoom.us/j/812\u20113456\u20117890", job.ZoomWeb, ok, "/j/81234567890"},
		{"https://zoom.us/j/81234567890&pwd=QUJD", job.ZoomWeb, ok, "/j/81234567890"},
		{"https://zoom.us/j/81234567890&pwd=QUJD?from=addon", job.ZoomWeb, ok, "/j/81234567890"},
		{"https://zoom.us/join?confno=81234567890&pwd=x", job.ZoomWeb, ok, "/j/81234567890"},
		{"https://zoom.us/join?action=join&confno=812%203456%207890", job.ZoomWeb, ok, "/j/81234567890"},
		{"zoom.us/j/81234567890", job.ZoomWeb, ok, "/j/81234567890"},
		{"us02web.zoom.us/j/81234567890?pwd=x", job.ZoomWeb, ok, ""},
		{"https://ZOOM.US./j/81234567890", job.ZoomWeb, ok, ""},
		{"https://zoom.us:443/j/81234567890", job.ZoomWeb, ok, ""},
		{"https://us02web.zoom.us/launch/jc/81234567890", job.ZoomWeb, ok, ""},
		{"https://zoom.us", job.ZoomWeb, warning, ""},
		{"https://zoom.us/join", job.ZoomWeb, warning, ""},
		{"https://zoom.us/u/abcDEF", job.ZoomWeb, warning, ""},
		{"https://us02web.zoom.us/u/kbXYZ", job.ZoomWeb, warning, ""},
		{"https://zoom.us/meeting/register/tJ0", job.ZoomWeb, warning, ""},
		{"https://us02web.zoom.us/webinar/register/WN_x", job.ZoomWeb, warning, ""},
		{"https://zoom.us/rec/share/abc", job.ZoomWeb, warning, ""},
		{"https://zoom.us/signin", job.ZoomWeb, warning, ""},
		{"https://zoom.us/pricing", job.ZoomWeb, warning, ""},
		{"https://zoom.us/j/", job.ZoomWeb, warning, ""},
		{"https://www.zoominfo.com/c/acme/1", job.Meet, warning, ""},
		{"https://zoominfo.com/j/81234567890", job.Meet, warning, ""},
		{"https://zoom.corp.example/j/81234567890", job.ZoomWeb, warning, ""},
		{"https://notzoom.us/j/81234567890", job.Meet, warning, ""},
		{"https://zoom.us.evil.example/j/81234567890", job.ZoomWeb, warning, ""},

		// Microsoft Teams
		{teams, job.Teams, ok, teamsConference},
		{"https://teams.microsoft.com/l/meetup-join/19:meeting_NmE@thread.v2/0?context={\"Tid\":\"t\",\"Oid\":\"o\"}", job.Teams, ok, teamsConference},
		{"https://teams.microsoft.com/l/meetup-join/19:meeting_NmE@thread.v2/0?context={\"Tid\": \"t\", \"Oid\": \"o\"}", job.Teams, ok, teamsConference},
		{"<https://teams.microsoft.com/l/meetup-join/19:meeting_NmE@thread.v2/0?context={\"Tid\":\"t\",\"Oid\":\"o\"}>", job.Teams, ok, teamsConference},
		{"https://teams.microsoft.com/l/meetup-join/19%253ameeting_NmE%2540thread.v2/0", job.Teams, ok, ""},
		{"https://teams.microsoft.com/l%252Fmeetup-join%252F19%253ameeting_x", job.Teams, ok, ""},
		{"https://teams.microsoft.com/meet/2412345678901?p=AbCdEf", job.Teams, ok, ""},
		{"https://teams.live.com/meet/9312345678901?p=secret", job.Teams, ok, ""},
		{"https://teams.live.com/meet/9312345678901", job.Teams, ok, ""},
		{"https://teams.cloud.microsoft/meet/2412345678901?p=x", job.Teams, ok, ""},
		{"https://teams.cloud.microsoft/l/meetup-join/19%3ameeting_x%40thread.v2/0", job.Teams, ok, ""},
		{"https://gov.teams.microsoft.us/l/meetup-join/19%3ameeting_x", job.Teams, ok, ""},
		{"https://dod.teams.microsoft.us/l/meetup-join/19%3ameeting_x", job.Teams, ok, ""},
		{"https://teams.microsoft.us/l/meetup-join/19%3ameeting_x", job.Teams, ok, ""},
		{"https://teams.microsoftonline.cn/l/meetup-join/19%3ameeting_x", job.Teams, ok, ""},
		{"https://teams.microsoft.com/v2/?meetingjoin=true#/l/meetup-join/19:meeting_x", job.Teams, ok, ""},
		{"https://teams.microsoft.com/v2/#/meet/2412345678901", job.Teams, ok, ""},
		{"https://teams.microsoft.com/_#/l/meetup-join/19:meeting_x", job.Teams, ok, ""},
		{"https://teams.microsoft.com/dl/launcher/launcher.html?url=%2F_%23%2Fl%2Fmeetup-join%2F19&type=meetup-join", job.Teams, ok, ""},
		{"https://teams.microsoft.com/light-meetings/launch?coords=e30&anon=true", job.Teams, ok, ""},
		{"https://teams.microsoft.com/light-meetings/launch?agent=web", job.Teams, ok, ""},
		{"teams.microsoft.com/meet/2412345678901", job.Teams, ok, ""},
		{"teams.live.com/meet/9312345678901", job.Teams, ok, ""},
		{"https://teams.microsoft.com", job.Teams, warning, ""},
		{"https://teams.microsoft.com/v2/", job.Teams, warning, ""},
		{"https://teams.microsoft.com/meetingOptions/?organizerId=1", job.Teams, warning, ""},
		{"https://teams.microsoft.com/l/channel/19%3ax/General", job.Teams, warning, ""},
		{"https://teams.microsoft.com/l/chat/0/0?users=ada@example.com", job.Teams, warning, ""},
		{"https://teams.microsoft.com/l/message/19/1", job.Teams, warning, ""},
		{"https://teams.microsoft.com/l/team/19", job.Teams, warning, ""},
		{"https://teams.microsoft.com/registration/abc", job.Teams, warning, ""},
		{"https://aka.ms/JoinTeamsMeeting?omkt=en-US", job.Meet, warning, ""},
		{"https://teams.corp.example/l/meetup-join/19", job.Teams, warning, ""},
		{"https://microsoft.com/teams", job.Meet, warning, ""},

		// Other hosts
		{"https://example.com/meeting", job.Meet, warning, ""},
		{"https://meet.jit.si/Room", job.Meet, warning, ""},
		{"https://acme.webex.com/meet/ada", job.Meet, warning, ""},
		{"https://allowed.example/room", job.Meet, ok, ""},
		{"https://sub.wild.example/room", job.Meet, ok, ""},
		{"http://127.0.0.1:4000/abc-defg-hij", job.Meet, ok, ""},
		{"http://127.0.0.1:4001/abc-defg-hij", job.Meet, warning, ""},

		// Redirectors
		{"https://www.google.com/url?q=" + escaped(meet) + "&sa=D&ust=1", job.Meet, ok, "/abc-defg-hij"},
		{"https://google.com/url?url=" + escaped(zoom), job.ZoomWeb, ok, "/j/81234567890"},
		{"https://www.google.de/url?q=" + escaped(zoom), job.ZoomWeb, ok, ""},
		{"https://www.google.co.uk/url?q=" + escaped(teams), job.Teams, ok, ""},
		{"https://www.google.com.au/url?q=" + escaped(zoom), job.ZoomWeb, ok, ""},
		{"https://www.google.com/url?q=" + escaped("https://example.com"), job.Meet, warning, ""},
		{"https://www.google.com/url?sa=D", "", invalid, ""},
		{"https://www.google.com/search?q=" + escaped(zoom), job.Meet, warning, ""},
		{"https://eur01.safelinks.protection.outlook.com/?url=" + escaped(zoom) + "&data=05%7C02", job.ZoomWeb, ok, ""},
		{"https://nam12.safelinks.protection.outlook.com/ap/t-59584e83/?url=" + escaped(teams) + "&reserved=0", job.Teams, ok, teamsConference},
		{"https://gcc02.safelinks.protection.outlook.com/?url=" + escaped(meet), job.Meet, ok, ""},
		{"https://usg01.safelinks.protection.office365.us/?url=" + escaped(teams), job.Teams, ok, ""},
		{"https://apc01.safelinks.protection.outlook.com/GetUrlReputation?url=" + escaped(zoom), job.ZoomWeb, ok, ""},
		{"https://statics.teams.cdn.office.net/evergreen-assets/safelinks/1/atp-safelinks.html?url=" + escaped(zoom) + "&locale=en-us", job.ZoomWeb, ok, ""},
		{"https://statics.teams.cdn.office.net/evergreen-assets/safelinks/2/atp-safelinks.html?url=" + escaped(meet), job.Meet, ok, ""},
		{"https://urldefense.proofpoint.com/v1/url?u=" + escaped(zoom) + "&k=x", job.ZoomWeb, ok, "/j/81234567890"},
		{"https://urldefense.proofpoint.com/v2/url?u=https-3A__zoom.us_j_81234567890-3Fpwd-3DQUJD&d=DwMF&c=x", job.ZoomWeb, ok, "/j/81234567890"},
		{"https://urldefense.proofpoint.com/v2/url?u=https-3A__meet.google.com_abc-2Ddefg-2Dhij&d=x", job.Meet, ok, "/abc-defg-hij"},
		{"https://urldefense.com/v3/__https://zoom.us/j/81234567890?pwd=QUJD__;!!Abc!xyz$", job.ZoomWeb, ok, "/j/81234567890"},
		{"https://urldefense.com/v3/__https://meet.google.com/abc-defg-hij__;!!Abc!xyz$", job.Meet, ok, "/abc-defg-hij"},
		{"https://urldefense.us/v3/__https://agency.zoomgov.com/j/1612345678__;!!Abc!x", job.ZoomWeb, ok, ""},
		{"https://urldefense.com/v3/__https://teams.microsoft.com/l/meetup-join/19*3ameeting_NmE*40thread.v2/0__;JSU!!A!x$", job.Teams, ok, teamsConference},
		{"https://urldefense.proofpoint.com/v2/url?d=x", "", invalid, ""},
		{"https://linkprotect.cudasvc.com/url?a=" + escaped(zoom) + "&c=E,1,x", job.ZoomWeb, ok, ""},
		{"https://linkprotect.cudasvc.com/url?a=" + escaped(teams) + "&c=E,1,x", job.Teams, ok, ""},
		{"https://slack-redir.net/link?url=" + escaped(meet), job.Meet, ok, ""},
		{"https://slack-redir.net/link?url=" + escaped(zoom) + "&v=3", job.ZoomWeb, ok, ""},
		{"https://protect-us.mimecast.com/s/AbC?domain=zoom.us", job.Meet, warning, ""},
		{"https://url.uk.m.mimecastprotect.com/s/AbC?domain=teams.microsoft.com", job.Meet, warning, ""},
		{"https://protect.mimecast.com/redirect?url=" + escaped(zoom), job.ZoomWeb, ok, ""},
		{"https://eur01.safelinks.protection.outlook.com/?url=" + escaped("https://www.google.com/url?q="+escaped(meet)), job.Meet, ok, "/abc-defg-hij"},
		{"https://eur01.safelinks.protection.outlook.com/?url=" + escaped("https://urldefense.com/v3/__"+zoom+"__;!!A!x$"), job.ZoomWeb, ok, ""},
		{"https://eur01.safelinks.protection.outlook.com/?url=" + escaped(escaped(zoom)), job.ZoomWeb, ok, ""},
		{"https://evil.example/?url=" + escaped(zoom), job.Meet, warning, ""},

		// Encodings
		{"https%3A%2F%2Fzoom.us%2Fj%2F81234567890", job.ZoomWeb, ok, "/j/81234567890"},
		{"https%253A%252F%252Fzoom.us%252Fj%252F81234567890", job.ZoomWeb, ok, "/j/81234567890"},

		// No meeting
		{"", "", invalid, ""},
		{"tomorrow", "", invalid, ""},
		{"abc-defg-hij", "", invalid, ""},
		{"zoommtg://zoom.us/join?confno=81234567890", "", invalid, ""},
		{"ftp://zoom.us/j/81234567890", "", invalid, ""},
		{"msteams:/l/meetup-join/19", "", invalid, ""},
		{"https://", "", invalid, ""},
		{"https:///j/1", "", invalid, ""},
		{zoom + " " + meet, "", invalid, ""},
		{"https://zoom.us/j/1https://zoom.us/j/2", "", invalid, ""},
		{"https://zo\u00f6m.us/j/81234567890", "", invalid, ""},
		{"https://z%6fom.us/j/81234567890", "", invalid, ""},
		{"https://zoom.us/j/" + strings.Repeat("1", 9000), "", invalid, ""},
	}
	// What surrounds a link in a text.
	for _, around := range [][2]string{
		{" ", " "}, {"\n\t", "\r\n"}, {"<", ">"}, {"(", ")"}, {"[", "]"}, {"\"", "\""}, {"“", "”"}, {"'", "'"}, {"`", "`"},
		{"", "."}, {"", ","}, {"", ";"}, {"", ":"}, {"", "!"}, {"", ">."}, {"", ")."}, {"\u200b", "\u200b"}, {"\ufeff", ""},
		{"\u00a0", "\u00a0"}, {"*", "*"}, {"<<", ">>"}, {"(<", ">)."},
	} {
		list = append(list,
			link{around[0] + meet + around[1], job.Meet, ok, "/abc-defg-hij"},
			link{around[0] + "https://us02web.zoom.us/j/81234567890?pwd=x" + around[1], job.ZoomWeb, ok, "/j/81234567890"})
	}
	return list
}

func TestResolve(t *testing.T) {
	t.Parallel()
	list := links()
	if len(list) < 150 {
		t.Errorf("only %d spellings", len(list))
	}
	for _, test := range list {
		got, err := meetinglink.Resolve(test.text, "allowed.example", "*.wild.example", "127.0.0.1:4000")
		outcome := ok
		switch {
		case err != nil:
			outcome = invalid
		case got.Warning != "":
			outcome = warning
		}
		if outcome != test.outcome || got.Platform != test.platform {
			t.Errorf("%.200q: %s, platform %q (%s, %v), want %s, %q", test.text, outcome, got.Platform, got.Warning, err, test.outcome, test.platform)
			continue
		}
		if test.path != "" && got.URL.Path != test.path {
			t.Errorf("%q: path %q, want %q", test.text, got.URL.Path, test.path)
		}
		if err != nil {
			continue
		}
		again, err := meetinglink.Resolve(got.URL.String(), "allowed.example", "*.wild.example", "127.0.0.1:4000")
		if err != nil || again.URL.String() != got.URL.String() || again.Warning != got.Warning {
			t.Errorf("%q: resolving %q again gives %v, %v", test.text, got.URL, again.URL, err)
		}
	}
}

// The passcode and the token survive every repair.
func TestResolveKeepsParameters(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"https://zoom.us/j/81234567890&pwd=QUJD":                                                         "https://zoom.us/j/81234567890?pwd=QUJD",
		"https://zoom.us/join?action=join&confno=812%203456%207890&pwd=x":                                "https://zoom.us/j/81234567890?pwd=x",
		"https://urldefense.proofpoint.com/v2/url?u=https-3A__zoom.us_j_81234567890-3Fpwd-3DQUJD&d=DwMF": "https://zoom.us/j/81234567890?pwd=QUJD",
		"https://urldefense.com/v3/__https://zoom.us/j/81234567890?pwd=QUJD__;!!Abc!xyz$":                "https://zoom.us/j/81234567890?pwd=QUJD",
		"https://teams.microsoft.com/l/meetup-join/19:x@thread.v2/0?context={\"Tid\":\"t\"}":             "https://teams.microsoft.com/l/meetup-join/19:x@thread.v2/0?context=%7B%22Tid%22%3A%22t%22%7D",
		"https://zoom.us/w/81234567890?tk=abc.DEF&pwd=x":                                                 "https://zoom.us/w/81234567890?tk=abc.DEF&pwd=x",
	} {
		got, err := meetinglink.Resolve(text)
		if err != nil || got.URL.String() != want {
			t.Errorf("%q: %v, %v, want %q", text, got.URL, err, want)
		}
	}
}

func FuzzResolve(f *testing.F) {
	for _, test := range links() {
		f.Add(test.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := meetinglink.Resolve(text)
		if err == nil && (got.URL.Hostname() == "" || got.Platform == "") {
			t.Errorf("%q: %+v", text, got)
		}
	})
}
