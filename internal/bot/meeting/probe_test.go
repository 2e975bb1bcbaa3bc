package meeting

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"standin/internal/bot/browser"
	"standin/internal/job"
)

// Parts of Meet pages.
const (
	callBar = `<div role=region aria-label="Call controls">
		<button aria-label="Turn on microphone">m</button><button aria-label="Turn on camera">c</button>
		<button aria-label="Leave call">x</button></div>`
	ownTile = `<div data-participant-id="me"><span data-self-name="Standin">Standin</span></div>`
	adaTile = `<div data-participant-id="ada"><span class=notranslate>Ada Quill</span><button aria-label="Pin Ada Quill to your main screen">pin</button></div>`
)

// testProbe classifies documents of Meet in a real browser, and documents that
// only resemble them.
func testProbe(t *testing.T, ctx context.Context, running *browser.Browser) {
	page := openPage(t, ctx, running)
	for _, c := range []struct {
		name, document string
		want           Screen
		people         []string
		others         int
	}{
		{name: "empty page", want: Unknown, others: -1},
		{name: "pre-join", want: PreJoin, others: -1, document: `<main><h1>What's your name?</h1>
			<input type=text aria-label="Your name"><button disabled><i>videocam</i><span>Ask to join</span></button></main>`},
		{name: "pre-join with a link to sign in", want: PreJoin, others: -1, document: `<main><a href="#">Sign in</a> with your Google Account
			<button>Join now</button></main>`},
		{name: "lobby that shows Leave call and call controls", want: Lobby, others: -1,
			document: `<main><div role=status><p>Asking to be let in...</p></div>` + callBar + `</main>`},
		{name: "lobby text in a label", want: Lobby, others: -1,
			document: `<div aria-label="Please wait until a meeting host brings you into the call"><span>…</span></div>` + callBar},
		{name: "lobby text in an element without a role", want: Lobby, others: -1,
			document: `<div><div>You'll join the call when someone lets you in</div></div>` + callBar + `<a aria-label="Return to home screen" href="#">home</a>`},
		{name: "effects control of the lobby's preview", want: Unknown, others: -1,
			document: `<main><div data-participant-id="me" aria-label="visual_effects Backgrounds and effects">fx</div>` + callBar + `</main>`},
		{name: "lobby, curly apostrophe, other case, broken lines", want: Lobby, others: -1,
			document: "<main><div>You\u2019ll Join the call\n\t when <b>someone</b> lets you in</div>" + callBar + `</main>`},
		{name: "host absent", want: HostAbsent, others: -1, document: `<main><p>Waiting for the host to join</p>` + callBar + `</main>`},
		{name: "hidden lobby text", want: InMeeting, others: 0,
			document: `<main><p style="display:none">Asking to be let in</p><div style="opacity:0"><p>Asking to be let in</p></div>
				<p style="visibility:hidden">Asking to be let in</p><div style="height:0;overflow:hidden"><p>Asking to be let in</p></div>
				<p style="position:absolute;left:-9999px">Asking to be let in</p>` + ownTile + callBar + `</main>`},
		{name: "hidden meeting", want: Unknown, others: -1,
			document: `<main><div style="visibility:hidden">` + ownTile + callBar + `</div></main>`},
		{name: "own tile twice and nobody else", want: InMeeting, others: 0,
			document: `<main>` + ownTile + `<div data-participant-id="me">Standin</div></main><button aria-label="People - 1 joined">p</button>`},
		{name: "two people", want: InMeeting, others: 1, people: []string{"ada Ada Quill"},
			document: `<main>` + ownTile + adaTile + ownTile + `</main>`},
		{name: "name by the pin button, number by the label", want: InMeeting, others: 11, people: []string{"ada Ada Quill"},
			document: `<main>` + ownTile + strings.Replace(adaTile, "notranslate", "n", 1) + `</main><button aria-label="People - 12 joined">p</button>`},
		{name: "number on a hidden toolbar", want: InMeeting, others: 4,
			document: `<main>` + ownTile + `</main><div style="visibility:hidden"><button aria-label="People - 5 joined">p</button>` + callBar + `</div>`},
		{name: "a tile that is gone from sight", want: InMeeting, others: 0,
			document: `<main>` + ownTile + `<div style="display:none">` + adaTile + `</div></main>`},
		{name: "someone speaks on the live page", want: InMeeting, others: 1, people: []string{"ada Ada Quill (speaking)"},
			document: `<main>` + ownTile + strings.Replace(adaTile, "</div>", `<div class="HX2H7" style="width:9px;height:9px"></div></div>`, 1) + `</main>`},
		{name: "someone is silent on the live page", want: InMeeting, others: 1, people: []string{"ada Ada Quill"},
			document: `<main>` + ownTile + strings.Replace(adaTile, "</div>", `<div class="HX2H7 gjg47c" style="width:9px;height:9px"></div></div>`, 1) + `</main>`},
		{name: "someone speaks", want: InMeeting, others: 1, people: []string{"ada Ada Quill (speaking)"},
			document: `<main>` + ownTile + strings.Replace(adaTile, "<div ", `<div class="tile speaking" `, 1) + `</main>`},
		{name: "someone speaks, by the color of a border", want: InMeeting, others: 1, people: []string{"ada Ada Quill (speaking)"},
			document: `<main>` + ownTile + strings.Replace(adaTile, "<div ", `<div style="border: 3px solid #0b57d0" `, 1) + `</main>`},
		{name: "chat full of ends", want: InMeeting, others: 1, people: []string{"ada Ada Quill"},
			document: `<main>` + ownTile + adaTile + callBar + `<aside><h2>In-call messages</h2>
				<h1>You've been removed from the meeting</h1><h1>The call ended</h1><p>Asking to be let in</p><h1>Check your meeting code</h1>
				<textarea aria-label="Send a message"></textarea></aside></main>`},
		{name: "chat of unknown make", want: InMeeting, others: 1, people: []string{"ada Ada Quill"},
			document: `<main>` + ownTile + adaTile + callBar + `<div><p>Someone in the call denied your request to join</p>
				<p>No one responded to your request to join the call</p><p>You can't join this video call</p><p>The call ended</p></div></main>`},
		{name: "bubbles", want: InMeeting, others: 0,
			document: `<main>` + ownTile + `</main><div aria-live=polite><b>Ada</b><p>Asking to be let in</p><p>You've been removed from the meeting</p></div>`},
		{name: "a participant called like an end", want: InMeeting, others: 1, people: []string{"eve You've been removed from the meeting"},
			document: `<main>` + ownTile + `<div data-participant-id="eve"><h2><span class=notranslate>You've been removed from the meeting</span></h2></div></main>`},
		{name: "somebody called like the bot", want: InMeeting, others: 1, people: []string{"bob Standin"},
			document: `<main>` + ownTile + `<div data-participant-id="bob"><span class=notranslate>Standin</span></div></main>`},
		{name: "removed", want: Removed, others: -1, document: `<main><h1>You've been removed from the meeting</h1><button>Return to home screen</button></main>`},
		{name: "ended", want: Ended, others: -1, document: `<main><h1>Your host ended the meeting for everyone</h1></main>`},
		{name: "left", want: Ended, others: -1, document: `<main><h1>You left the meeting</h1><button>Rejoin</button></main>`},
		{name: "denied by \"You left the meeting\"", want: Denied, others: -1, document: `<main><h1>You left the meeting</h1><button>Return to home screen</button></main>`},
		{name: "the header's way home", want: Unknown, others: -1, document: `<header><a aria-label="Return to home screen" href="#">home</a></header><main>Getting ready…</main>`},
		{name: "blocked meeting", want: BotWall, others: -1, document: `<main><h1>You can't join this meeting</h1><button>Return to home screen</button></main>`},
		{name: "denied", want: Denied, others: -1, document: `<main><h1>You can't join this video call</h1><p>Someone in the call denied your request to join</p>
			<button>Return to home screen</button></main>`},
		{name: "lobby timed out", want: LobbyTimedOut, others: -1, document: `<main><h1>No one responded to your request to join the call</h1></main>`},
		{name: "not found", want: NotFound, others: -1, document: `<main><h1>Check your meeting code</h1><button>Return to home screen</button></main>`},
		{name: "sign-in", want: SignInWall, others: -1, document: `<main><h1>Sign in</h1><p>Use your Google Account</p></main>`},
		{name: "blocked", want: BotWall, others: -1, document: `<main><h1>You can't join this video call</h1></main>`},
		{name: "cannot connect", want: CannotConnect, others: -1, document: `<main><h1>There is a problem connecting to this video call</h1></main>`},
		{name: "captcha", want: BotWall, others: -1, document: `<iframe title=reCAPTCHA src="/recaptcha/anchor" width=304 height=78></iframe>`},
		{name: "captcha's badge, mostly beside the page", want: Unknown, others: -1,
			document: `<div style="position:fixed;right:-186px;bottom:14px"><iframe title=reCAPTCHA src="/recaptcha/anchor" width=256 height=60></iframe></div>`},
		{name: "captcha, hidden", want: Unknown, others: -1,
			document: `<div style="visibility:hidden"><iframe title=reCAPTCHA src="/recaptcha/anchor" width=304 height=78></iframe></div>`},
	} {
		t.Run(c.name, func(t *testing.T) {
			showDocument(t, ctx, page, c.document)
			observation := observeDocument(t, ctx, job.Meet, page, showsCall(c.want))
			if observation.Screen != c.want {
				t.Errorf("screen = %s by %s, want %s", observation.Screen, observation.Evidence, c.want)
			}
			var people []string
			for _, one := range observation.Participants {
				person := one.ID + " " + one.Name
				if one.Speaking {
					person += " (speaking)"
				}
				people = append(people, person)
			}
			if !slices.Equal(people, c.people) || observation.Others != c.others {
				t.Errorf("people = %q, %d others; want %q, %d", people, observation.Others, c.people, c.others)
			}
		})
	}
}

// BenchmarkProbe observes a meeting of fifty people with a long open chat.
func BenchmarkProbe(b *testing.B) {
	ctx, running := launchBrowser(b)
	adapter := siteOf(b, job.Meet)
	adapter.visit.past.Admitted = true
	var document strings.Builder
	document.WriteString("<main>" + ownTile + callBar)
	for i := range 49 {
		document.WriteString(strings.ReplaceAll(adaTile, `"ada"`, fmt.Sprintf(`"p%d"`, i)))
	}
	document.WriteString("<div>")
	for i := range 500 {
		fmt.Fprintf(&document, "<div><b>Ada</b><p>Message %d says that the call ended</p></div>", i)
	}
	document.WriteString(`</div></main>`)
	page := openDocument(b, ctx, running, document.String())
	for b.Loop() {
		observation, err := adapter.Observe(ctx, page)
		if err != nil || observation.Screen != InMeeting || observation.Others != 49 {
			b.Fatalf("observed %s with %d others, %v", observation.Screen, observation.Others, err)
		}
	}
}
