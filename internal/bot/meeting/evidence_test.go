package meeting

import (
	"slices"
	"strings"
	"testing"

	"standin/internal/jobs/job"
)

// TestWordsOfOtherLanguages checks that phrases that no profile has decide only
// together with another piece of evidence.
func TestWordsOfOtherLanguages(t *testing.T) {
	t.Parallel()
	profile := siteOf(t, job.Meet).profile
	call := []string{tile, leaveButton, captionsButton}
	for name, c := range map[string]struct {
		heading, text string
		link          string
		elements      []string
		media         int
		past          History
		want          Screen
	}{
		"German lobby":                     {text: "Sie werden in Kürze eingelassen", past: waiting, want: Lobby},
		"lobby words before joining":       {text: "Sie werden in Kürze eingelassen", past: History{}, want: Unknown},
		"left, before admission":           {heading: "Sie haben die Besprechung verlassen", past: waiting, want: Denied},
		"an end while media arrives":       {heading: "Der Anruf wurde beendet", media: 1, past: in, want: Unknown},
		"an end over a call":               {heading: "Der Anruf wurde beendet", elements: call, past: in, want: InMeeting},
		"an end in a long text":            {text: strings.Repeat("Der Anruf wurde beendet. ", maxSparseText/20), past: in, want: Unknown},
		"a lost connection":                {heading: "Verbindung wird wiederhergestellt …", past: in, want: Reconnecting},
		"a camera that is denied":          {text: "Camera access was denied", past: waiting, want: Unknown},
		"a link to sign in":                {text: "Melden Sie sich an", link: "Melden Sie sich an", past: waiting, want: Unknown},
		"a wall's words in a lobby":        {text: "Sie müssen sich anmelden", elements: []string{leaveButton}, past: waiting, want: Unknown},
		"an end's words in a lobby":        {text: "Der Anruf wurde beendet", elements: []string{leaveButton}, past: waiting, want: Unknown},
		"a sign-in hint on the first page": {text: "Inicia sesión para unirte antes", elements: []string{nameInput, joinButton}, want: PreJoin},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			snapshot := showing(t, profile, c.elements)
			snapshot.Media = c.media
			if c.heading != "" {
				snapshot.Outline.Headings = []string{c.heading}
			}
			if c.text != "" {
				snapshot.Outline.Texts = []string{c.text}
			}
			if c.link != "" {
				snapshot.Outline.Buttons = []OutlineControl{{Label: c.link, Link: true}}
			}
			if found := profile.classify(snapshot, c.past); found.screen != c.want {
				t.Errorf("screen = %s by %+v, want %s", found.screen, found.evidence, c.want)
			}
		})
	}
}

// TestUnknownLobby checks that a page which can only be left, after joining was
// requested, is a lobby in any language, and that a call is not.
func TestUnknownLobby(t *testing.T) {
	t.Parallel()
	asked := waiting
	asked.RequestedFor = waitTime
	for _, platform := range []job.Platform{job.Meet, job.Teams, job.ZoomWeb} {
		profile := siteOf(t, platform).profile
		wait := showing(t, profile, []string{leaveButton})
		call := showing(t, profile, []string{leaveButton, profile.Admission.Controls[0]})
		for _, c := range []struct {
			snapshot Snapshot
			past     History
			want     Screen
		}{{wait, asked, Lobby}, {wait, waiting, Unknown}, {wait, History{}, Unknown}, {call, asked, Unknown}} {
			if found := profile.classify(c.snapshot, c.past); found.screen != c.want {
				t.Errorf("%s: screen = %s by %+v, want %s", platform, found.screen, found.evidence, c.want)
			}
		}
	}
}

// TestWordsBeforeDuration checks that words tell a lobby from a host who has not
// started, however long the page has waited.
func TestWordsBeforeDuration(t *testing.T) {
	t.Parallel()
	waitingLong := waiting
	waitingLong.RequestedFor = 2 * waitTime
	for _, platform := range []job.Platform{job.Meet, job.ZoomWeb} {
		profile := siteOf(t, platform).profile
		for text, want := range map[string]Screen{
			"Waiting for the host to start the meeting":                   HostAbsent,
			"Es wird darauf gewartet, dass der Host das Meeting startet":  HostAbsent,
			"ホストがミーティングを開始するのを待っています":                                     HostAbsent,
			"Bitte warten Sie, der Meeting-Host lässt Sie bald eintreten": Lobby,
		} {
			for _, past := range []History{{}, waiting, waitingLong} {
				if !past.Requested && want == Lobby {
					continue // before joining, these words alone decide nothing
				}
				snapshot := showing(t, profile, []string{leaveButton})
				snapshot.Outline.Texts = []string{text}
				if found := profile.classify(snapshot, past); found.screen != want {
					t.Errorf("%s: %q after %s: screen = %s by %+v, want %s", platform, text, past.RequestedFor, found.screen, found.evidence, want)
				}
			}
		}
	}
}

// TestSignInTexts checks the texts by which Teams asks to sign in, in any element.
func TestSignInTexts(t *testing.T) {
	t.Parallel()
	profile := siteOf(t, job.Teams).profile
	for _, text := range []string{
		"We need to verify your info before you can join",
		"To join, sign in or use Teams on the web",
		"You need to be signed in to Teams to access this meeting. Sign in with a work or school account and try joining again.",
		"If you're not signed in to a Teams (work or school) account, sign in and try joining again. If you still can't join, contact the organizer.",
		"Sign in to Teams to join, or contact the meeting organizer",
		"To join this Teams meeting, you need to be signed in to an account.",
		"To join this meeting, sign in again or select another account.",
		"Due to org policy, you need to sign in or use Teams on the web to join this meeting.",
		"External participants are not permitted to join before the event begins. Please join after the event has started.",
	} {
		snapshot := Snapshot{Outline: Outline{Texts: []string{text}}}
		if found := profile.classify(snapshot, waiting); found.screen != SignInWall {
			t.Errorf("%q is %s by %+v", text, found.screen, found.evidence)
		}
	}
}

// TestJoinAgain checks that a join button that is enabled again is pressed again,
// as Teams does when the connection to the lobby failed, and that a page which
// starts over without the name is not joined.
func TestJoinAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		elements map[string]VisibleElement
		want     []string
	}{
		"enabled again": {map[string]VisibleElement{nameInput: {Value: "Standin"}, joinButton: {}}, []string{joinButton}},
		"disabled":      {map[string]VisibleElement{nameInput: {Value: "Standin"}, joinButton: {Disabled: true}}, nil},
		"without name":  {map[string]VisibleElement{nameInput: {}, joinButton: {}}, nil},
	} {
		if got := pendingActions(Snapshot{Elements: c.elements}, PreJoin); !slices.Equal(got, c.want) {
			t.Errorf("%s: pressed %q, want %q", name, got, c.want)
		}
	}
}
