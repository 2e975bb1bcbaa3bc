package pagecheck

import (
	"bytes"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"standin/internal/bot/browser"
	"standin/internal/bot/meeting"
	"standin/internal/jobs/job"
	"standin/internal/replica"
	"standin/internal/testing/profiletest"
	"standin/internal/testing/replicatest"
	"standin/internal/testing/testbrowser"
)

// pageSettings opens a meeting of a new replica, and returns the settings to inspect it with
// a browser for tests.
func pageSettings(t *testing.T, settings replica.Settings) (PageSettings, *replica.Meeting) {
	t.Helper()
	path := testbrowser.ForPages(t)
	testbrowser.Reserve(t) // browsers are slow beside others
	opened := replicatest.Open(t, settings)
	host, _, _ := strings.Cut(strings.TrimPrefix(opened.URL(), "http://"), "/")
	return PageSettings{
		Platform: job.Meet, URL: opened.URL(), AllowedHosts: []string{host},
		LoopbackPeers: true, Wait: 30 * time.Second, Browser: path, BrowserMode: browser.Headless,
	}, opened
}

// element returns the result for an element.
func (p Page) element(t *testing.T, name string) meeting.InspectedElement {
	t.Helper()
	position := slices.IndexFunc(p.Elements, func(element meeting.InspectedElement) bool { return element.Name == name })
	if position < 0 {
		t.Fatalf("the report has no element %s", name)
	}
	return p.Elements[position]
}

// TestPageBeforeJoining checks that the elements of the pre-join screen are found
// and those of the meeting are not, and that a report shows wrong selectors.
func TestPageBeforeJoining(t *testing.T) {
	t.Parallel()
	settings, _ := pageSettings(t, replica.Settings{})
	settings.Browser, settings.BrowserMode = "", "" // those of bots
	settings.Profiles = profiletest.With(t, func(text string) string {
		return strings.Replace(text, `'input[type="text"][aria-label="Your name"]'`, `'#no-such-input'`, 1)
	})
	settings.Screenshot = filepath.Join(t.TempDir(), "page.png")
	page, err := InspectPage(t.Context(), settings)
	if err != nil {
		t.Fatal(err)
	}
	if page.Screen != meeting.PreJoin || page.Evidence == "" || page.Title == "" || page.Version < 1 {
		t.Errorf("the page is %+v", page)
	}
	for name, candidate := range map[string]int{"nameInput": 2, "joinButton": 1} {
		if found := page.element(t, name); found.State != meeting.ElementVisible || found.Candidate != candidate || found.Selector == "" {
			t.Errorf("%s is %+v", name, found)
		}
	}
	if !strings.HasPrefix(page.Profile, settings.Profiles) {
		t.Errorf("the profile is %s", page.Profile)
	}
	if join, tile := page.element(t, "joinButton"), page.element(t, "tile"); join.Text != "Ask to join" ||
		tile.State != meeting.ElementMissing || tile.Text != "" {
		t.Errorf("the join button is %+v, a tile %+v", join, tile)
	}
	if strings.ContainsAny(page.Address, "?#") {
		t.Errorf("the address contains its query or fragment: %s", page.Address)
	}
	screenshot, err := os.ReadFile(settings.Screenshot)
	if err != nil {
		t.Fatal(err)
	}
	if size, err := png.DecodeConfig(bytes.NewReader(screenshot)); err != nil || size.Width != 1280 || size.Height != 720 {
		t.Errorf("the screenshot is %dx%d, %v", size.Width, size.Height, err)
	}
}

// TestPageThatIsNotRecognized checks that an unrecognized page is no error.
func TestPageThatIsNotRecognized(t *testing.T) {
	t.Parallel()
	settings, _ := pageSettings(t, replica.Settings{PageDelay: time.Hour})
	settings.Wait = 2 * time.Second
	page, err := InspectPage(t.Context(), settings)
	if err != nil || page.Recognized() || page.Screen != meeting.Unknown {
		t.Errorf("a page without anything on it is %s, by %s: %v", page.Screen, page.Evidence, err)
	}
}

// TestPageThatMayNotBeOpened checks that no browser is started for other hosts.
func TestPageThatMayNotBeOpened(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		platform job.Platform
		url      string
		added    []string
		refused  string // empty: as far as the browser
	}{
		{job.Meet, "https://meet.google.com/abc-defg-hij", nil, ""},
		{job.Meet, "https://evil.test/abc-defg-hij", nil, "--allow-host evil.test"},
		{job.Meet, "https://evil.test/abc-defg-hij", []string{"evil.test"}, ""},
		{job.Meet, "https://evil.test:444/abc-defg-hij", []string{"evil.test:443"}, "--allow-host evil.test:444"},
		{job.Meet, "https://meet.google.com@evil.test/abc-defg-hij", nil, "--allow-host"},
		{job.Meet, "not an address", nil, "address"},
		{job.Platform("skype"), "https://meet.google.com/abc-defg-hij", nil, "skype"},
	} {
		_, err := InspectPage(t.Context(), PageSettings{
			Platform: test.platform, URL: test.url, AllowedHosts: test.added, Browser: "/no/such/browser",
		})
		want := test.refused
		if want == "" {
			want = "/no/such/browser"
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", test.url, err, want)
		}
	}
}

// TestPageForPeople checks the format and that texts of the page are quoted.
func TestPageForPeople(t *testing.T) {
	t.Parallel()
	page := Page{
		Platform: "meet", Profile: "embedded/meet.yaml", Version: 2, Date: "2026-11-21",
		Title: "Meet \x1b[2J", Address: "https://meet.google.com/abc-defg-hij", Screen: meeting.Lobby, Evidence: `text "Asking to be let in"`,
		Elements: []meeting.InspectedElement{
			{Name: "leaveButton", State: meeting.ElementVisible, Candidate: 2, Selector: "button", Text: "Leave\u202e call", Disabled: true, Covered: true},
			{Name: "nameInput", State: meeting.ElementMissing},
		},
		Texts:  []meeting.InspectedText{{Path: "screens.lobby[0].text[0]", Found: "Asking to be let in"}},
		People: []string{"Jörg", ""}, Others: 2,
	}
	var text strings.Builder
	if err := page.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	const want = `profile  meet version 2 of 2026-11-21 (embedded/meet.yaml)
page     "Meet \x1b[2J", https://meet.google.com/abc-defg-hij
screen   lobby, by text "Asking to be let in"
people   2 beside the bot: "Jörg", "?"
text     screens.lobby[0].text[0]: "Asking to be let in"

visible  leaveButton  candidate 2, button: "Leave\u202e call", disabled, something lies over it
missing  nameInput    -
`
	if text.String() != want {
		t.Errorf("got\n%s\nwant\n%s", text.String(), want)
	}
	if text.Reset(); (Page{Screen: meeting.Unknown}).WriteText(&text) != nil || !strings.Contains(text.String(), "not recognized") {
		t.Errorf("without a screen: %s", text.String())
	}
	page.Others = -1
	if page.people() != "the page does not show it" {
		t.Errorf("people: %s", page.people())
	}
}
