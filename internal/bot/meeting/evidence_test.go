package meeting

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"standin/internal/job"
)

// TestReplay checks that captured snapshots of a visit, through JSON, are classified
// like the visit, and that a changed profile decides anew.
func TestReplay(t *testing.T) {
	t.Parallel()
	site := siteOf(t, job.Meet)
	meet := site.profile
	start := time.Unix(1000, 0).UTC()
	site.visit.request(start)
	site.visit.setName("Standin")
	call := withTiles(showing(t, meet, []string{tile, leaveButton, captionsButton}), "Ada Quill")
	call.Chat = []ChatEntry{{ID: "1", Author: "Ada Quill", Text: "secret"}}
	farewell := showing(t, meet, nil)
	farewell.Outline = Outline{Headings: []string{"So long, Ada Quill"}, Fields: []OutlineControl{{Label: "Rate the call"}}}
	var captured []CapturedSnapshot
	var want []Decision
	for i, snapshot := range []Snapshot{
		showing(t, meet, []string{leaveButton}, "Asking to be let in"), call,
		showing(t, meet, []string{returnHome}, "The call ended"), showing(t, meet, []string{returnHome}, "The call ended"),
		farewell,
	} {
		now := start.Add(time.Duration(i) * 2 * time.Second)
		observation := site.observe(snapshot, now)
		captured = append(captured, *observation.Captured)
		want = append(want, observation.Decision(now))
	}
	encoded, err := json.Marshal(captured)
	if err != nil {
		t.Fatal(err)
	}
	var decoded []CapturedSnapshot
	if err := json.Unmarshal(encoded, &decoded); err != nil {
		t.Fatal(err)
	}
	got := Replay(meet, decoded)
	if !slices.EqualFunc(got, want, Decision.SameAs) {
		t.Errorf("replayed as %+v, want %+v", got, want)
	}
	var screens []Screen
	for _, decision := range got {
		screens = append(screens, decision.Screen)
		if decision.Screen != Unknown && totalWeight(decision.Evidence) < minWeight {
			t.Errorf("%s rests on %+v", decision.Screen, decision.Evidence)
		}
	}
	if visited := []Screen{Lobby, InMeeting, Unknown, Ended, Unknown}; !slices.Equal(screens, visited) {
		t.Errorf("the screens are %q, want %q", screens, visited)
	}

	changed := *siteOf(t, job.Meet).profile
	changed.Screens = map[Screen][]Rule{Lobby: meet.Screens[Lobby]}
	if decision := Replay(&changed, decoded)[3]; decision.Screen == Ended {
		t.Errorf("a profile without ends decides %+v", decision)
	}
}

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
		"Spanish lobby":                    {text: "Espera a que alguien te deje entrar", past: waiting, want: Lobby},
		"Japanese lobby":                   {text: "参加を許可されるまでお待ちください", past: waiting, want: Lobby},
		"Arabic lobby":                     {text: "يُرجى الانتظار في غرفة الانتظار", past: waiting, want: Lobby},
		"Hebrew lobby":                     {text: "מישהו יכניס אותך בקרוב, חדר המתנה", past: waiting, want: Lobby},
		"lobby words before joining":       {text: "Sie werden in Kürze eingelassen", past: History{}, want: Unknown},
		"German end":                       {heading: "Der Anruf wurde beendet", past: in, want: Ended},
		"Japanese removal":                 {heading: "会議から削除されました", past: in, want: Removed},
		"left, after admission":            {heading: "Has abandonado la reunión", past: in, want: Ended},
		"left, before admission":           {heading: "Sie haben die Besprechung verlassen", past: waiting, want: Denied},
		"an end while media arrives":       {heading: "Der Anruf wurde beendet", media: 1, past: in, want: Unknown},
		"an end over a call":               {heading: "Der Anruf wurde beendet", elements: call, past: in, want: InMeeting},
		"an end in a long text":            {text: strings.Repeat("Der Anruf wurde beendet. ", maxSparseText/20), past: in, want: Unknown},
		"a lost connection":                {heading: "Verbindung wird wiederhergestellt …", past: in, want: Reconnecting},
		"German denial":                    {heading: "Ihre Anfrage wurde abgelehnt", past: waiting, want: Denied},
		"a camera that is denied":          {text: "Camera access was denied", past: waiting, want: Unknown},
		"sign-in in Spanish":               {heading: "Inicia sesión para unirte", past: History{}, want: SignInWall},
		"full in German":                   {heading: "Die Besprechung ist voll", past: waiting, want: BotWall},
		"not found in Japanese":            {heading: "会議が見つかりません", past: History{}, want: NotFound},
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
// started, in any language and however long the page has waited.
func TestWordsBeforeDuration(t *testing.T) {
	t.Parallel()
	waitingLong := waiting
	waitingLong.RequestedFor = 2 * waitTime
	for _, platform := range []job.Platform{job.Meet, job.ZoomWeb} {
		profile := siteOf(t, platform).profile
		for text, want := range map[string]Screen{
			"Waiting for the host to start the meeting":                   HostAbsent,
			"Es wird darauf gewartet, dass der Host das Meeting startet":  HostAbsent,
			"Esperando a que el anfitrión inicie la reunión":              HostAbsent,
			"ホストがミーティングを開始するのを待っています":                                     HostAbsent,
			"في انتظار أن يبدأ المضيف الاجتماع":                           HostAbsent,
			"Bitte warten Sie, der Meeting-Host lässt Sie bald eintreten": Lobby,
			"Espere, el anfitrión de la reunión le dejará entrar pronto":  Lobby,
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
