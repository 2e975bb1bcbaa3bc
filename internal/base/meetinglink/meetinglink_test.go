package meetinglink_test

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"standin/internal/base/meetinglink"
	"standin/internal/jobs/job"
)

const (
	meet = "https://meet.google.com/abc-defg-hij"
	zoom = "https://zoom.us/j/81234567890"
)

// outcomes of a link
const (
	ok      = "ok"
	warning = "warning"
	unsure  = "unsure"
	invalid = "invalid"
)

// link is a spelling of a meeting link.
type link struct {
	text     string
	platform job.Platform
	outcome  string
	path     string // of the target; empty: not compared
}

// links reads testdata/links.txt, and puts characters around a link of each kind.
func links(t testing.TB) []link {
	t.Helper()
	content, err := os.ReadFile("testdata/links.txt")
	if err != nil {
		t.Fatal(err)
	}
	list := []link{{"https://zoom.us/j/" + strings.Repeat("1", 9000), "", invalid, ""}}
	for line := range strings.Lines(string(content)) {
		if strings.TrimSpace(line) == "" || line[0] == '#' {
			continue
		}
		columns := strings.Split(strings.TrimSuffix(strings.ReplaceAll(line, "\t-", "\t"), "\n"), "\t")
		text, err := strconv.Unquote(columns[len(columns)-1])
		if err != nil || len(columns) != 4 {
			t.Fatalf("%q: %v", line, err)
		}
		list = append(list, link{text, job.Platform(columns[1]), columns[0], columns[2]})
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
	list := links(t)
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
			if meetinglink.Refusal(test.text, "allowed.example", "*.wild.example", "127.0.0.1:4000") == "" {
				outcome = unsure
			}
		}
		if outcome != test.outcome || got.Platform != test.platform {
			t.Errorf("%.200q: %s, platform %q (%s, %v), want %s, %q", test.text, outcome, got.Platform, got.Warning, err, test.outcome,
				test.platform)
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
		"https://gateway.example/?u=https%3A%2F%2Fzoom.us%2Fj%2F81234567890%3Fpwd%3DQUJD&data=05":        "https://zoom.us/j/81234567890?pwd=QUJD",
		"https://gateway.example/https%3A%2F%2Fzoom.us%2Fj%2F81234567890%3Fpwd%3DQUJD":                   "https://zoom.us/j/81234567890?pwd=QUJD",
		"https://zoom.us/w/81234567890?tk=abc.DEF&pwd=x":                                                 "https://zoom.us/w/81234567890?tk=abc.DEF&pwd=x",
	} {
		got, err := meetinglink.Resolve(text)
		if err != nil || got.URL.String() != want {
			t.Errorf("%q: %v, %v, want %q", text, got.URL, err, want)
		}
	}
}

func FuzzResolve(f *testing.F) {
	for _, test := range links(f) {
		f.Add(test.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := meetinglink.Resolve(text)
		if err == nil && (got.URL.Hostname() == "" || got.Platform == "") {
			t.Errorf("%q: %+v", text, got)
		}
	})
}

// TestRefusedWrappers checks that no bot opens a link around nothing that is a meeting.
func TestRefusedWrappers(t *testing.T) {
	t.Parallel()
	for _, link := range []string{
		"https://www.google.com/url?sa=D", "https://www.google.com/url?q=javascript:alert(1)",
		"https://nam12.safelinks.protection.outlook.com/?url=file:///etc/passwd", "https://filter.example.org/?url=https://example.org/",
		strings.Repeat("https://google.com/url?q=", 9) + "https://meet.google.com/abc-defg-hij",
	} {
		if meetinglink.Refusal(link) == "" {
			t.Errorf("a bot opens %s", link)
		}
	}
}
