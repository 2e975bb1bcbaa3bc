package meeting

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"standin/internal/bot/browser"
	"standin/internal/job"
)

// visitTime is how long a visit of a document takes at most: a final screen must be
// told within it.
const visitTime = 10 * time.Second

// visitDocument observes a document and acts like a bot, until a screen is wanted or
// time is up. The time between the observations does not pass.
func visitDocument(t *testing.T, ctx context.Context, site *site, page Page, wanted Screen) (last Observation, took time.Duration) {
	t.Helper()
	start := time.Now()
	for took <= visitTime {
		last = site.observe(snapshotOf(t, ctx, site, page), start.Add(took))
		if wanted.Terminal() && last.Screen == wanted {
			return last, took
		}
		// Devices and toolbars, which other tests check, would take their time.
		if last.CloseDialog != nil || len(last.Notices) > 0 && last.Notices[0] == joinButton {
			if err := site.HandleNotices(ctx, page, last); err != nil {
				t.Fatal(err)
			}
		}
		took += 500 * time.Millisecond
	}
	return last, took
}

// modal returns a Zoom dialog whose button runs a script.
func modal(text, script string) string {
	return `<div class="zm-modal" style="position:fixed;inset:100px;background:#fff"><div class="zm-modal-body-title">` + text +
		`</div><button onclick="` + script + `">OK</button></div>`
}

// testOutcomes checks what pages say before admission and at the end: in dialogs, in
// any element, and in unknown words.
func testOutcomes(t *testing.T, ctx context.Context, running *browser.Browser) {
	const preview = `<input id=input-for-name value=Standin><button class="preview-join-button" %s onclick="document.title='knocked'">Join</button>`
	disabled, enabled := fmt.Sprintf(preview, "disabled"), fmt.Sprintf(preview, "")
	const stay, closes = "", "this.parentElement.remove()"
	const leaves = "document.body.innerHTML='<button class=preview-join-button onclick=&quot;document.title=1&quot;>Join</button>'"
	call := `<div class=meeting-app>` + zoomTile + zoomBar + `</div>`
	page := openPage(t, ctx, running)
	for _, c := range []struct {
		name     string
		platform job.Platform
		document string
		admitted bool
		want     Screen
		closed   bool
	}{
		{"a refusal in unknown words that stays", job.ZoomWeb, disabled + modal("Room 4711 takes nobody at the moment", stay), false, Denied, false},
		{"a refusal in unknown words that comes back", job.ZoomWeb, fmt.Sprintf(preview, `data-x`) + `<script>
			document.querySelector('.preview-join-button').onclick = () => document.body.insertAdjacentHTML('beforeend', document.getElementById('again').innerHTML);
			</script><template id=again>` + modal("Room 4711 takes nobody at the moment", closes) + `</template>` + modal("Room 4711 takes nobody at the moment", closes), false, Denied, false},
		{"end-to-end encryption", job.ZoomWeb, disabled + modal("Unable to join this meeting. End-to-end encrypted meetings need the app.", leaves), false, BotWall, false},
		{"locked, in German", job.ZoomWeb, enabled + modal("Der Host hat das Meeting gesperrt: Das Meeting ist gesperrt", closes), false, Denied, false},
		{"the host is in another meeting", job.ZoomWeb, enabled + modal("The host has another meeting in progress", closes), false, HostAbsent, false},
		{"the host is absent on the form", job.Meet, `<div><input type=text aria-label="Your name" value=Standin></div><section><i>Waiting for the host to join</i></section>`, false, HostAbsent, false},
		{"the meeting has not started", job.Teams, `<section><b>Hi, Standin.</b> <span>Someone will let you in when the meeting starts.</span></section>`, false, HostAbsent, false},
		{"the end of a free call, in a dialog", job.ZoomWeb, call + modal("This call has reached its time limit", leaves), true, Ended, false},
		{"the end of a free call, in a dialog that stays", job.ZoomWeb, call + modal("This free Zoom call is over: the time limit has been reached", stay), true, Ended, false},
		{"a dialog about another end", job.ZoomWeb, call + modal("The poll of the call that was, because the call has ended", closes), true, InMeeting, false},
		{"where Zoom goes after the end", job.ZoomWeb, `<script>document.title="Join a Meeting - Zoom"</script><input placeholder="Meeting ID or Personal Link Name">`, true, Ended, false},
		{"an end in unknown words", job.Meet, `<main><p>That was it for today</p><button>Back</button></main>`, true, Unknown, true},
		{"a page without words", job.Meet, `<main></main>`, true, Unknown, false},
		{"hidden parts", job.Teams, `<div role=status>Loading <span hidden>The meeting has ended</span><i style="opacity:0">Someone will let you in shortly</i></div>
			<select><option>You're in the lobby</option></select><textarea>Someone will let you in shortly</textarea><!-- Someone will let you in shortly -->
			<input placeholder="Someone will let you in shortly">`, false, Unknown, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			showDocument(t, ctx, page, c.document)
			site := siteOf(t, c.platform)
			site.visit.past.Admitted, site.visit.past.Requested, site.visit.past.OwnName = c.admitted, true, "Standin"
			snapshot := snapshotOf(t, ctx, site, page)
			site.visit.document = snapshot.Document
			last, took := visitDocument(t, ctx, site, page, c.want)
			if last.Screen != c.want || last.Closed != c.closed {
				t.Errorf("after %s the page is %s by %q, closed %t; want %s, %t", took, last.Screen, last.Evidence, last.Closed, c.want, c.closed)
			}
			var title string
			if err := page.EvalInPage(ctx, "document.title", &title); err != nil || c.want.Terminal() && !strings.Contains("Meet knocked Join a Meeting - Zoom", title) {
				t.Errorf("the bot knocked again: %q, %v", title, err)
			}
		})
	}
}
