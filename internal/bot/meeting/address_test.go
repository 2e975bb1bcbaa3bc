package meeting

import (
	"encoding/base64"
	"errors"
	"net/url"
	"strings"
	"testing"

	"standin/internal/base/meetinglink"
	"standin/internal/jobs/job"
)

// addressCase is a text and the address to open for it. An empty address means
// that the text is rejected.
type addressCase struct{ given, want, passcode string }

func testAddresses(t *testing.T, platform job.Platform, cases map[string]addressCase) {
	t.Helper()
	t.Parallel()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := siteOf(t, platform).Address(c.given)
			var refused *AddressError
			if c.want == "" && !errors.As(err, &refused) || c.want != "" && err != nil ||
				got.URL != c.want || got.Passcode != c.passcode {
				t.Fatalf("Address(%q) = %+v, %v; want %q with passcode %q", c.given, got, err, c.want, c.passcode)
			}
			if c.want == "" {
				if strings.Contains(err.Error(), "defg") {
					t.Errorf("the error repeats the address: %v", err)
				}
				return
			}
			again, err := siteOf(t, platform).Address(got.URL)
			if err != nil || again != got {
				t.Errorf("Address(%q) = %+v, %v; want it unchanged", got.URL, again, err)
			}
		})
	}
}

// repeatedly percent-encodes a text several times.
func repeatedly(text string, times int) string {
	for range times {
		text = url.QueryEscape(text)
	}
	return text
}

func TestMeetAddress(t *testing.T) {
	const plain = "https://meet.google.com/abc-defg-hij?hl=en"
	testAddresses(t, job.Meet, map[string]addressCase{
		"plain":              {given: "https://meet.google.com/abc-defg-hij", want: plain},
		"white space around": {given: " \n https://meet.google.com/abc-defg-hij\t", want: plain},
		"trailing bracket":   {given: "https://meet.google.com/abc-defg-hij>", want: plain},
		"both brackets":      {given: "<https://meet.google.com/abc-defg-hij>", want: plain},
		"http":               {given: "http://meet.google.com/abc-defg-hij", want: plain},
		"capitals":           {given: "HTTPS://Meet.Google.COM/ABC-DEFG-HIJ", want: plain},
		"another language":   {given: "https://meet.google.com/abc-defg-hij?hl=de", want: plain},
		"other parameters": {
			given: "https://meet.google.com/abc-defg-hij?authuser=1&hl=de", want: "https://meet.google.com/abc-defg-hij?authuser=1&hl=en",
		},
		"user in front":       {given: "https://who:secret@meet.google.com/abc-defg-hij", want: plain},
		"lookup":              {given: "https://meet.google.com/lookup/weekly", want: "https://meet.google.com/lookup/weekly?hl=en"},
		"redirector":          {given: "https://www.google.com/url?q=https://meet.google.com/abc-defg-hij&sa=D", want: plain},
		"redirector, encoded": {given: "https://www.google.com/url?q=https%3A%2F%2Fmeet.google.com%2Fabc-defg-hij&usg=x", want: plain},
		"redirector, thrice":  {given: "https://google.com/url?q=https%25253A%25252F%25252Fmeet.google.com%25252Fabc-defg-hij", want: plain},
		"redirector in another": {
			given: "https://google.com/url?q=https%3A%2F%2Fwww.google.com%2Furl%3Fq%3Dhttps%253A%252F%252Fmeet.google.com%252Fabc-defg-hij",
			want:  plain,
		},
		"redirector, other name":   {given: "https://www.google.com/url?sa=j&url=https%3A%2F%2Fmeet.google.com%2Fabc-defg-hij", want: plain},
		"encoded once":             {given: "https%3A%2F%2Fmeet.google.com%2Fabc-defg-hij", want: plain},
		"encoded three times":      {given: "https%25253A%25252F%25252Fmeet.google.com%25252Fabc-defg-hij", want: plain},
		"another host":             {given: "http://127.0.0.1:9000/Room?x=1", want: "http://127.0.0.1:9000/Room?hl=en&x=1"},
		"empty":                    {given: ""},
		"words":                    {given: "see you at ten"},
		"two, apart":               {given: "https://meet.google.com/abc-defg-hij https://zoom.us/j/1"},
		"two, on two lines":        {given: "https://meet.google.com/abc-defg-hij\nhttps://meet.google.com/xyz-defg-hij"},
		"two, glued":               {given: "https://meet.google.com/abc-defg-hijhttps://meet.google.com/xyz-defg-hij"},
		"two, glued and encoded":   {given: "https://meet.google.com/abc-defg-hijhttps%3A%2F%2Fzoom.us%2Fj%2F1"},
		"words before":             {given: "Join: https://meet.google.com/abc-defg-hij"},
		"no code":                  {given: "https://meet.google.com/"},
		"no host":                  {given: "https:///abc-defg-hij"},
		"no web address":           {given: "ftp://meet.google.com/abc-defg-hij"},
		"a script":                 {given: "javascript:alert(1)"},
		"encoded four times":       {given: "https%2525253A%2525252F%2525252Fmeet.google.com%2525252Fabc-defg-hij"},
		"too long":                 {given: "https://meet.google.com/" + strings.Repeat("a", maxAddressLength)},
		"unreadable":               {given: "https://meet.google.com/%zz"},
		"control character inside": {given: "https://meet.google.com/abc\x00defg"},
	})
}

func TestTeamsAddress(t *testing.T) {
	const (
		join    = "https://teams.microsoft.com/l/meetup-join/19:meeting_Zm9v@thread.v2/0"
		context = "context=%7B%22Tid%22%3A%22a-b%22%2C%22Oid%22%3A%22c-d%22%7D"
		long    = join + "?" + context
		short   = "https://teams.live.com/meet/9312345678901?p=Ab3xYz"
	)
	light := func(json string) string {
		return "https://teams.microsoft.com/light-meetings/launch?anon=true&coords=" +
			url.QueryEscape(base64.StdEncoding.EncodeToString([]byte(json)))
	}
	coords := light(`{"conversationId":"19:meeting_Zm9v@thread.v2","tenantId":"a-b"}`)
	testAddresses(t, job.Teams, map[string]addressCase{
		"long": {given: long, want: long},
		"colon and at sign encoded": {
			given: "https://teams.microsoft.com/l/meetup-join/19%3ameeting_Zm9v%40thread.v2/0?context=%7b%22Tid%22%3a%22a-b%22%2c%22Oid%22%3a%22c-d%22%7d",
			want:  "https://teams.microsoft.com/l/meetup-join/19%3ameeting_Zm9v%40thread.v2/0?context=%7b%22Tid%22%3a%22a-b%22%2c%22Oid%22%3a%22c-d%22%7d",
		},
		"encoded twice inside": {
			given: "https://teams.microsoft.com/l/meetup-join/19%253ameeting_Zm9v%2540thread.v2/0?context=%257B%2522Tid%2522%253A%2522a-b%2522%252C%2522Oid%2522%253A%2522c-d%2522%257D",
			want:  long,
		},
		"encoded three times": {given: repeatedly(long, 3), want: long},
		"trailing bracket":    {given: long + ">", want: long},
		"safelinks": {
			given: "https://nam12.safelinks.protection.outlook.com/?url=" + url.QueryEscape(long) + "&data=05%7C02&reserved=0", want: long,
		},
		"safelinks in a path": {
			given: "https://eur03.safelinks.protection.outlook.com/ap/t-59584e83/?url=" + url.QueryEscape(long), want: long,
		},
		"safelinks of Teams": {
			given: "https://statics.teams.cdn.office.net/evergreen-assets/safelinks/1/atp-safelinks.html?url=" + url.QueryEscape(short),
			want:  short, passcode: "Ab3xYz",
		},
		"safelinks in Google's": {
			given: "https://www.google.com/url?q=" + url.QueryEscape("https://nam12.safelinks.protection.outlook.com/?url="+url.QueryEscape(short)),
			want:  short, passcode: "Ab3xYz",
		},
		"another filter": {
			given: "https://filter.example.org/?url=" + url.QueryEscape(short), want: short, passcode: "Ab3xYz",
		},
		"launcher": {
			given: "https://teams.microsoft.com/dl/launcher/launcher.html?url=" +
				url.QueryEscape("/_#/l/meetup-join/19:meeting_Zm9v@thread.v2/0?"+context) + "&type=meetup-join&directDl=true",
			want: long,
		},
		"launcher of a short link": {
			given: "https://teams.live.com/dl/launcher/launcher.html?url=" + url.QueryEscape("/_#/meet/9312345678901?p=Ab3xYz"), want: short,
			passcode: "Ab3xYz",
		},
		"launcher, encoded thrice": {
			given: "https://teams.live.com/dl/launcher/launcher.html?url=" + repeatedly("/_#/meet/9312345678901?p=Ab3xYz", 3), want: short,
			passcode: "Ab3xYz",
		},
		"launcher in a launcher": {
			given: "https://teams.live.com/dl/launcher/launcher.html?url=" +
				url.QueryEscape("/dl/launcher/launcher.html?url="+url.QueryEscape("/_#/meet/9312345678901?p=Ab3xYz")),
			want: short, passcode: "Ab3xYz",
		},
		"launcher to another host": {given: "https://teams.live.com/dl/launcher/launcher.html?url=" +
			url.QueryEscape("https://evil.example/meet/1")},
		"launcher to another host, bare": {given: "https://teams.live.com/dl/launcher/launcher.html?url=" +
			url.QueryEscape("//evil.example/meet/1")},
		"launcher to a script": {given: "https://teams.live.com/dl/launcher/launcher.html?url=" + url.QueryEscape("javascript:alert(1)")},
		"launcher to nothing":  {given: "https://teams.live.com/dl/launcher/launcher.html"},
		"old client":           {given: "https://teams.microsoft.com/_#/l/meetup-join/19:meeting_Zm9v@thread.v2/0?" + context, want: long},
		"new client": {
			given: "https://teams.microsoft.com/v2/?meetingjoin=true#/l/meetup-join/19:meeting_Zm9v@thread.v2/0?" + context,
			want:  "https://teams.microsoft.com/v2/?meetingjoin=true#/l/meetup-join/19:meeting_Zm9v@thread.v2/0?" + context,
		},
		"new client, short": {
			given: "https://teams.live.com/v2/?meetingjoin=true#/meet/9312345678901?p=Ab3xYz&anon=true",
			want:  "https://teams.live.com/v2/?meetingjoin=true#/meet/9312345678901?p=Ab3xYz&anon=true", passcode: "Ab3xYz",
		},
		"light meeting": {given: coords, want: coords},
		"light meeting with passcode": {
			given: light(`{"meetingCode":"1","passcode":"Ab3xYz"}`), want: light(`{"meetingCode":"1","passcode":"Ab3xYz"}`), passcode: "Ab3xYz",
		},
		"light meeting, unreadable": {given: "https://teams.microsoft.com/light-meetings/launch?coords=%21%21"},
		"light meeting, no JSON":    {given: light("hello")},
		"short":                     {given: short, want: short, passcode: "Ab3xYz"},
		"short, capitals, port, user": {
			given: "HTTP://me:secret@Teams.Live.COM.:443/meet/9312345678901?p=Ab3xYz", want: short, passcode: "Ab3xYz",
		},
		"government cloud": {
			given: "https://gov.teams.microsoft.us/l/meetup-join/x", want: "https://gov.teams.microsoft.us/l/meetup-join/x",
		},
		"another host": {
			given: "http://127.0.0.1:4000/meet/123456789012?p=k3", want: "http://127.0.0.1:4000/meet/123456789012?p=k3", passcode: "k3",
		},
		"another host's launcher": {
			given: "http://127.0.0.1:4000/dl/launcher/launcher.html?url=%2F_%23%2Fmeet%2F123456789012%3Fp%3Dk3",
			want:  "http://127.0.0.1:4000/meet/123456789012?p=k3", passcode: "k3",
		},
		"no meeting":              {given: "https://teams.microsoft.com/"},
		"old client, no meeting":  {given: "https://teams.microsoft.com/_#"},
		"punctuation, no meeting": {given: "https://teams.microsoft.com/*#"},
		"encoded, no meeting":     {given: "https://teams.microsoft.com/%2A"},
		"two":                     {given: short + " " + short},
		"two, glued":              {given: short + short},
	})
}

func TestZoomAddress(t *testing.T) {
	const client = "https://app.zoom.us/wc/12345678901/join?pwd=aB3.1"
	testAddresses(t, job.ZoomWeb, map[string]addressCase{
		"usual":            {given: "https://zoom.us/j/12345678901?pwd=aB3.1", want: client, passcode: "aB3.1"},
		"a region's host":  {given: "https://us02web.zoom.us/j/12345678901?pwd=aB3.1", want: client, passcode: "aB3.1"},
		"a company's name": {given: "https://acme.zoom.us/j/12345678901?pwd=aB3.1#success", want: client, passcode: "aB3.1"},
		"zoom.com":         {given: "http://www.zoom.com/j/12345678901?pwd=aB3.1", want: client, passcode: "aB3.1"},
		"with dashes":      {given: "https://zoom.us/j/123-4567-8901?pwd=aB3.1", want: client, passcode: "aB3.1"},
		"without passcode": {given: "https://zoom.us/j/12345678901", want: "https://app.zoom.us/wc/12345678901/join"},
		"webinar with a token": {
			given: "https://zoom.us/w/12345678901?tk=to.ken&pwd=aB3.1&uuid=WN_x", want: client + "&tk=to.ken", passcode: "aB3.1",
		},
		"web client":              {given: client + "&fromPWA=1", want: client, passcode: "aB3.1"},
		"web client, the old way": {given: "https://zoom.us/wc/join/12345678901?pwd=aB3.1", want: client, passcode: "aB3.1"},
		"web client, to start":    {given: "https://zoom.us/wc/12345678901/start?pwd=aB3.1", want: client, passcode: "aB3.1"},
		"personal name": {
			given: "https://us05web.zoom.us/my/ada.quill?pwd=aB3.1", want: "https://us05web.zoom.us/my/ada.quill?pwd=aB3.1", passcode: "aB3.1",
		},
		"events":              {given: "https://events.zoom.us/ejl/Abc-De_f", want: "https://events.zoom.us/ejl/Abc-De_f"},
		"encoded three times": {given: repeatedly("https://zoom.us/j/12345678901?pwd=aB3.1", 3), want: client, passcode: "aB3.1"},
		"encoded four times":  {given: repeatedly("https://zoom.us/j/12345678901?pwd=aB3.1", 4)},
		"trailing bracket":    {given: "<https://zoom.us/j/12345678901?pwd=aB3.1>", want: client, passcode: "aB3.1"},
		"Google's redirector": {
			given: "https://www.google.com/url?q=https%3A%2F%2Fzoom.us%2Fj%2F12345678901%3Fpwd%3DaB3.1&sa=D", want: client, passcode: "aB3.1",
		},
		"a company's own host": {
			given: "https://zoom.corp.example/j/12345678901?pwd=aB3.1", want: "https://zoom.corp.example/j/12345678901?pwd=aB3.1",
			passcode: "aB3.1",
		},
		"the government's": {
			given: "https://www.zoomgov.com/j/12345678901?pwd=aB3.1", want: "https://www.zoomgov.com/j/12345678901?pwd=aB3.1", passcode: "aB3.1",
		},
		"replica": {
			given: "http://127.0.0.1:4000/j/12345678901?pwd=k3", want: "http://127.0.0.1:4000/j/12345678901?pwd=k3", passcode: "k3",
		},
		"not Zoom's":               {given: "https://zoom.us.example.org/j/12345678901", want: "https://zoom.us.example.org/j/12345678901"},
		"another page":             {given: "https://zoom.us/pricing", want: "https://zoom.us/pricing"},
		"nothing":                  {given: "https://zoom.us"},
		"two":                      {given: "https://zoom.us/j/12345678901\nhttps://zoom.us/j/12345678902"},
		"two, glued":               {given: "https://zoom.us/j/12345678901https://zoom.us/j/12345678902"},
		"two, glued to a passcode": {given: "https://zoom.us/j/12345678901?pwd=aB3.1https://zoom.us/j/12345678902"},
		"the program's own address": {
			given: "zoommtg://zoom.us/join?confno=12345678901", want: "https://app.zoom.us/wc/12345678901/join",
		},
	})
}

func FuzzMeetAddress(f *testing.F)  { fuzzAddress(f, job.Meet) }
func FuzzTeamsAddress(f *testing.F) { fuzzAddress(f, job.Teams) }
func FuzzZoomAddress(f *testing.F)  { fuzzAddress(f, job.ZoomWeb) }

// fuzzAddress checks that any text is either rejected or yields a web address on
// a host that the text contains or that is the platform's own, and that resolving
// the result again does not change it.
func fuzzAddress(f *testing.F, platform job.Platform) {
	for _, seed := range []string{
		"https://meet.google.com/abc-defg-hij>", "https://www.google.com/url?q=https%253A%252F%252Fmeet.google.com%252Fabc-defg-hij",
		"https://meet.google.com/a https://zoom.us/j/1", "http://[::1]:80/x", "%", "https://a/%2525", "<>",
		"https://teams.microsoft.com/l/meetup-join/19%253ameeting_x%2540thread.v2/0?context=%257B%2522Tid%2522%257D",
		"https://teams.live.com/dl/launcher/launcher.html?url=%2F_%23%2Fmeet%2F1%3Fp%3Dx", "https://teams.microsoft.com/_#/meet/1?p=x",
		"https://teams.microsoft.com/light-meetings/launch?coords=eyJhIjoxfQ==",
		"https://nam12.safelinks.protection.outlook.com/?url=https%3A%2F%2Fzoom.us%2Fj%2F123456789",
		"https://zoom.us/j/12345678901?pwd=a&tk=b", "https://events.zoom.us/ejl/x", "https://zoom.us/my/x?pwd=%zz",
		"https://teams.live.com/v2/?meetingjoin=true#/meet/1?p=x",
		"https://teams.microsoft.com/l/meetup-join/19%253ameeting_x/0%253A", "https://example.org/a%2529%253A%252C", "https://example.org/_#",
		"https://teams.microsoft.com/_#", "https://teams.microsoft.com/*#", "http://_#", "https://teams.microsoft.com/%5F",
	} {
		f.Add(seed)
	}
	adapter := siteOf(f, platform)
	f.Fuzz(func(t *testing.T, given string) {
		got, err := adapter.Address(given)
		if err != nil {
			var refused *AddressError
			if !errors.As(err, &refused) {
				t.Fatalf("Address(%q): %v is not an AddressError", given, err)
			}
			return
		}
		address, err := url.Parse(got.URL)
		if err != nil || address.Hostname() == "" || address.Scheme != "http" && address.Scheme != "https" || address.User != nil {
			t.Fatalf("Address(%q) = %q, which is not a web address", given, got.URL)
		}
		if platform == job.Meet && address.Query().Get("hl") != "en" {
			t.Errorf("Address(%q) = %q, which is not in English", given, got.URL)
		}
		if host := meetinglink.HostOf(address); host != zoomClientHost && !strings.Contains(decoded(given), host) {
			t.Errorf("Address(%q) = %q, whose host the text does not contain", given, got.URL)
		}
		if again, err := adapter.Address(got.URL); err != nil || again != got {
			t.Errorf("Address(%q) = %+v, and of that %+v, %v", given, got, again, err)
		}
	})
}

// decoded returns a text and its percent-decodings, in lower case.
func decoded(text string) string {
	all := strings.ToLower(text)
	for range maxEncodings * maxWrappings {
		next, err := url.QueryUnescape(text)
		if err != nil {
			next, err = url.PathUnescape(text)
		}
		if err != nil || next == text {
			break
		}
		text = next
		all += "\n" + strings.ToLower(text)
	}
	return all
}
