package capture

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"standin/internal/bot/browser"
	"standin/internal/bot/meeting"
	"standin/internal/jobs/job"
	"standin/internal/testing/await"
)

// hostilePage is a call whose participants chose their names and messages to end up
// in a capture, or to break it. What must not be in the capture holds "leak".
const hostilePage = `<!doctype html><html lang=en><title>Quarterly leak@example.com - Meet</title>
<base href="https://example.test/"><meta http-equiv=refresh content="3600;url=https://example.test/leak">
<body onload="window.leaked=1"><style>.wide{width:400px;height:100px}.box{width:400px}</style>
<header><a href="https://meet.test/landing?token=leak#leak" aria-label="Return to home screen" onclick="leak()">Home</a>
<a href="javascript:leak()">x</a><img src="https://photos.test/leak?sz=48" alt="Photo of Ada Leakwell" width=40 height=40></header>
<main>
<h1>Meeting of Ada Leakwell</h1>
<p>Ask ada.leak@example.com or call +49 30 5550199, see https://example.test/leak/1?leak=1</p>
<p>Sam Leak joined</p>
<div data-participant-id="spaces/leak/1"><video class=wide></video><span class=notranslate>Ada Leakwell</span>
 <button aria-label="Pin Ada Leakwell to your main screen">pin</button><button aria-label="Leaky McLeak options">more</button></div>
<div data-participant-id=2><span class=notranslate>Leave call</span><span data-self-name="Standin for leakowner">Standin for leakowner</span></div>
<div data-participant-id=3 data-tid="leak-name"><span class=notranslate>leak-name</span></div>
<div data-participant-id=4><span class=notranslate>&lt;script&gt;window.leaked=2&lt;/script&gt;"&amp;']]&gt;leak&#0;&#xD800;&#x202E;</span></div>
<div class=box><video class=wide></video><div>Una Leaked</div></div>
<button aria-label="Leave call">x</button>
<button aria-label="Chat with everyone" @click="leak" data-jid="leakleakleakleakleakleakleakleak12345678">c</button>
<input aria-label="Your name" value="leak" id=name><textarea>leak</textarea><select><option selected>leakless</option></select>
<aside aria-label="Side panel"><div data-message-id="leak-7" data-message-text="leak: my password is leak"><b data-sender-name="Ada Leakwell">Ada Leakwell</b><p>leak: my password is leak</p></div>
<textarea aria-label="Send a message">leak draft</textarea></aside>
<div role=log>leak in a log</div><div class="live-Captions">leak spoken aloud</div><div contenteditable>leak typed</div>
<ul role=list><li role=listitem aria-label="Sam Leak">Sam Leak</li></ul>
<script>window.leakScript = "leak"</script><noscript>leak</noscript><template><p>leak</p></template>
<iframe title=inner srcdoc="<h2>Inner heading of Ada Leakwell</h2><script>window.leaked=3</script><p onclick='leak()'>Someone will let you in soon</p>"></iframe>
<p><a><p>nested</p></a></p><custom-element leak:attr=1>custom</custom-element>
<svg width=20 height=20><script>leak()</script><title>leak icon</title><path d="M0 0"/></svg>
</main></html>`

// testHostilePage checks that a capture holds nothing of what participants wrote,
// that the page is not changed, and that the restored page runs nothing.
func testHostilePage(t *testing.T, ctx context.Context, running *browser.Browser, viewer *Viewer) {
	t.Helper()
	profile := profileOf(t, job.Meet)
	page := openPage(t, ctx, running, serve(t, map[string]string{"/": hostilePage})+"/?secret=leak#leak")
	const content = `document.documentElement.outerHTML`
	var before, after string
	await.Until(t, "the page to load", func() bool {
		err := page.EvalInPage(ctx, `document.readyState === "complete" ? `+content+` : ""`, &before)
		return err == nil && before != ""
	})
	snapshot, err := profile.Snapshot(ctx, page)
	if err != nil {
		t.Fatal(err)
	}
	var log Log
	log.Add(meeting.Observation{Screen: meeting.Unknown, Captured: &meeting.CapturedSnapshot{
		At: time.Now(), Known: meeting.History{OwnName: "Standin for leakowner"}, Snapshot: snapshot,
	}})
	visit := Visit{Platform: job.Meet, Profile: profile, DisplayName: "Standin for leakowner", Log: &log}
	made, blank := New(ctx, page, visit, "Ada Leakwell was not recognized")
	if blank || len(made.Snapshots) != 1 || len(made.Screenshot) == 0 {
		t.Errorf("blank %v, %d snapshots, %d bytes of screenshot", blank, len(made.Snapshots), len(made.Screenshot))
	}
	if err := page.EvalInPage(ctx, content, &after); err != nil || before != after {
		t.Errorf("the capture changed the page: %v", err)
	}
	made.Profile = nil
	made.Screenshot = nil
	data, err := made.Encode()
	if err != nil {
		t.Fatal(err)
	}
	decoded, err := Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	info := encoded(decoded.Info)
	for name, text := range map[string]string{
		"page": string(decoded.Page), "accessibility tree": string(decoded.Accessibility), "info": info,
	} {
		for row := range strings.Lines(text) {
			if strings.Contains(strings.ToLower(row), "leak") {
				t.Errorf("the %s holds: %s", name, row)
			}
		}
	}
	for _, want := range []string{
		"Meeting of Person ", "Pin Person ", `aria-label="Leave call"`, `aria-label="Chat with everyone"`, "Inner heading of Person ",
		"Someone will let you in soon",
		"[email]", `href="http://meet.test/landing"`, `value="x"`,
	} {
		if !strings.Contains(string(decoded.Page), strings.Replace(want, "http:", "https:", 1)) {
			t.Errorf("the page lacks %q", want)
		}
	}
	restored, err := viewer.Open(ctx, decoded)
	if err != nil {
		t.Fatalf("%v (%s) in %s", err, decoded.Problem, decoded.Page)
	}
	defer restored.Close()
	var ran bool
	if err := restored.EvalInPage(ctx, `document.scripts.length > 0 || Object.keys(window).some(key => key.startsWith("leak"))`,
		&ran); err != nil || ran {
		t.Errorf("the restored page has scripts: %v, %v", ran, err)
	}
	found, err := profile.Snapshot(ctx, restored)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"leaveButton", "chatButton", "nameInput", "tile"} {
		if found.Elements[name].Candidate != snapshot.Elements[name].Candidate || !found.Visible(name) {
			t.Errorf("%s is %+v on the page, %+v when restored", name, snapshot.Elements[name], found.Elements[name])
		}
	}
	if len(found.Tiles) != len(snapshot.Tiles) {
		t.Errorf("%d tiles on the page, %d when restored", len(snapshot.Tiles), len(found.Tiles))
	}
}

// TestSanitizedTexts checks single texts.
func TestSanitizedTexts(t *testing.T) {
	t.Parallel()
	clean := newSanitizer(profileOf(t, job.Meet))
	clean.setNames([]string{"Standin for Eve"}, []string{"Ada Quill", "Join now", "e", "田中", "q.*zz", "Ada Quill", "the"})
	for text, want := range map[string]string{
		"ADA  quill waits":              "Person 1 waits",
		"Quill, Ada":                    "Person 1, Person 1",
		"Adaptation":                    "Adaptation",
		"Join now":                      "Join now",
		"田中さん":                          "Person 3さん",
		"q.*zz and qXzz":                "Person 4 and qXzz",
		"Standin for Eve":               "Bot",
		"mail eve@example.com now":      "mail [email] now",
		"dial 030 555 0199":             "dial 000 000 0000",
		"see https://a.test/Ada?q=1 or": "see https://a.test/ or",
		"This meeting (3,001)":          "This meeting (3,001)",
		"code abc-defg-hij":             "code xxx-xxxx-xxx",
		"Person 1 of the interface?":    "Person 1 of the interface?",
	} {
		if got := clean.text(text); got != want {
			t.Errorf("text(%q) = %q, want %q", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"Pin Zoë Quatsch to your main screen": "Pin xxx xxxxxxx to your main screen",
		"Pin Ada Quill to your main screen":   "Pin Person 1 to your main screen",
	} {
		if got := clean.withoutOthers(text); got != want {
			t.Errorf("withoutOthers(%q) = %q, want %q", text, got, want)
		}
	}
	if got := mask("My PIN is 1234 🙂!"); got != "xx xxx xx 0000 --" {
		t.Errorf("mask returns %q", got)
	}
}

// TestLog checks which snapshots a log keeps.
func TestLog(t *testing.T) {
	t.Parallel()
	var log Log
	start := time.Now()
	for i := range 300 {
		screen := meeting.Lobby
		if i%3 == 2 {
			screen = meeting.Unknown
		}
		if i < 50 {
			screen = meeting.PreJoin
		}
		log.Add(meeting.Observation{Screen: screen, Captured: &meeting.CapturedSnapshot{At: start.Add(time.Duration(i) * time.Second),
			Snapshot: meeting.Snapshot{
				Tiles: []meeting.RosterEntry{{Names: []string{string(rune('a' + i%26))}}},
			}}})
	}
	log.Add(meeting.Observation{Screen: meeting.Lobby}) // of a page that is not read
	snapshots, decisions, names := log.Content()
	if len(snapshots) != maxSnapshots || len(decisions) != maxSnapshots || len(names) != 26 {
		t.Fatalf("%d snapshots, %d decisions, %d names", len(snapshots), len(decisions), len(names))
	}
	for i, want := range map[int]time.Duration{0: 0, 1: 49 * time.Second, 2: 50 * time.Second, maxSnapshots - 1: 299 * time.Second} {
		if got := snapshots[i].At.Sub(start); got != want {
			t.Errorf("snapshot %d is of second %v, want %v", i, got, want)
		}
	}
}

// TestDecode checks that damaged and foreign files are refused.
func TestDecode(t *testing.T) {
	t.Parallel()
	future := Capture{Info: Info{Schema: Schema + 1}}
	data, err := future.Encode()
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{"": "zip", "PK\x03\x04": "zip", string(data): "schema 2"} {
		if _, err := Decode([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := Open(t.TempDir()); err == nil || !strings.Contains(err.Error(), "capture.json") {
		t.Errorf("an empty folder: %v", err)
	}
}

// FuzzDecode checks that a file is refused, or can be replayed and encoded again.
func FuzzDecode(f *testing.F) {
	profile := profileOf(f, job.Meet)
	history := meeting.History{Requested: true, OwnName: "Standin"}
	for _, one := range []Capture{
		{Info: Info{
			Schema:    Schema,
			Snapshots: []meeting.CapturedSnapshot{{Known: history, Snapshot: meeting.Snapshot{LobbyText: "Asking to be let in"}}},
		}, Profile: profile.Text()},
		{Info: Info{
			Schema: Schema, Platform: job.Meet, Width: 1280,
		}, Page: []byte("<html/>"), Accessibility: []byte("button"), Screenshot: []byte("PNG"), Profile: []byte("{")},
	} {
		data, err := one.Encode()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte("PK\x03\x04"))
	f.Fuzz(func(t *testing.T, data []byte) {
		decoded, err := Decode(data)
		if err != nil {
			return
		}
		encoded, err := decoded.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if again, err := Decode(encoded); err != nil || !bytes.Equal(again.Page, decoded.Page) || len(again.Snapshots) != len(decoded.Snapshots) {
			t.Errorf("decoded %+v, and again %+v, %v", decoded, again, err)
		}
		decoded.Page = nil // which needs a browser
		steps, err := new(Viewer).Replay(t.Context(), decoded, profile)
		if err == nil && len(steps) != len(decoded.Snapshots) {
			t.Errorf("%d steps of %d snapshots", len(steps), len(decoded.Snapshots))
		}
	})
}
