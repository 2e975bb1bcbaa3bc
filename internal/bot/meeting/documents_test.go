package meeting

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"standin/internal/bot/browser"
	"standin/internal/job"
)

// TestDocuments runs the tests that load their own documents, in one browser.
func TestDocuments(t *testing.T) {
	t.Parallel()
	ctx, running := launchBrowser(t)
	for name, test := range map[string]func(*testing.T, context.Context, *browser.Browser){
		"probe":        testProbe,
		"platforms":    testProbeOnPlatforms,
		"titles":       testProbeReadsTitles,
		"scripts":      testScriptsAreNoText,
		"switches":     testFluentSwitches,
		"devices":      testMeetDevicesInAnyLanguage,
		"speaking":     testTeamsSpeaking,
		"people":       testPeopleAndChat,
		"allow":        testZoomAllowsDevices,
		"dialogs":      testDialogs,
		"outcomes":     testOutcomes,
		"languages":    testLanguages,
		"people list":  testPeopleList,
		"marks":        testMarks,
		"notices":      testRecordingNotice,
		"frames":       testProbeInFrames,
		"bad selector": testProbeNamesABadSelector,
		"inspect":      testInspect,
		"unknown":      testUnknownPage,
		"gone":         testPageGone,
	} {
		t.Run(name, func(t *testing.T) { test(t, ctx, running) })
	}
}

// testMeetDevicesInAnyLanguage checks that Meet's devices that are on are found
// whatever their labels say, and those of participants are not.
func testMeetDevicesInAnyLanguage(t *testing.T, ctx context.Context, running *browser.Browser) {
	page := openPage(t, ctx, running)
	for _, c := range []struct {
		platform job.Platform
		document string
		on       []string
	}{
		{job.Teams, `<button id=microphone-button data-state="mic" aria-label="ไมค์">m</button><button id=video-button data-state="call-video">v</button>`, []string{microphoneOn, cameraOn}},
		{job.Teams, `<button id=microphone-button data-state="mic-off" aria-label="ไมค์">m</button><button id=video-button data-state="call-video-off">v</button>`, nil},
		{job.Teams, `<button data-track-action-scenario="preJoinMute">ไมค์</button>`, []string{microphoneOn}},
		{job.Meet, `<button aria-label="ไมค์"><i>mic</i></button><div role=button aria-label="กล้อง"><span>videocam</span></div>`, []string{microphoneOn, cameraOn}},
		{job.Meet, `<button aria-label="ไมค์"><i>mic_off</i></button><div role=button aria-label="กล้อง"><span>videocam_off</span></div>`, nil},
		{job.ZoomWeb, `<button id=preview-audio-control-button aria-label="ไมค์"><svg class="SvgAudioMute" width=20 height=20></svg></button><button id=preview-video-control-button><svg class="SvgVideoOn" width=20 height=20></svg></button>`, []string{microphoneOn, cameraOn}},
		{job.ZoomWeb, `<button id=preview-audio-control-button aria-label="ไมค์"><svg class="SvgAudioUnmute" width=20 height=20></svg></button><button id=preview-video-control-button><svg class="SvgVideoOff" width=20 height=20></svg></button>`, nil},
		{job.ZoomWeb, `<button id=preview-audio-control-button aria-label="Mute"><svg class="SvgAudioMuteHovered" width=20 height=20></svg></button>`, []string{microphoneOn}},
		{job.ZoomWeb, `<button class=join-audio-container__btn aria-label="unmute my microphone"><svg class="SvgAudioUnmute" width=20 height=20></svg></button>`, nil},
	} {
		showDocument(t, ctx, page, "<main>"+c.document+"</main>")
		snapshot := snapshotOf(t, ctx, siteOf(t, c.platform), page)
		var on []string
		for _, device := range []string{microphoneOn, cameraOn} {
			if snapshot.Visible(device) {
				on = append(on, device)
			}
		}
		if !slices.Equal(on, c.on) {
			t.Errorf("%s: %s: %q are on, want %q", c.platform, c.document, on, c.on)
		}
	}
	for muted, on := range map[string]bool{"false": true, "true": false} {
		showDocument(t, ctx, page, `<main><button data-is-muted="`+muted+`" aria-label="ปิดกล้อง">x</button>
			<div data-participant-id=p1><button data-is-muted="false">Ada</button></div></main>`)
		if snapshot := snapshotOf(t, ctx, siteOf(t, job.Meet), page); snapshot.Visible(microphoneOn) != on {
			t.Errorf("data-is-muted=%s: a device is on: %t, want %t", muted, !on, on)
		}
	}
}

// testProbeReadsTitles checks that Zoom's error page is recognized by its title.
func testProbeReadsTitles(t *testing.T, ctx context.Context, running *browser.Browser) {
	page := openDocument(t, ctx, running, `<script>document.title = "Error - Zoom"</script>`)
	observation := observeDocument(t, ctx, job.ZoomWeb, page, false)
	if observation.Screen != HostAbsent || !strings.Contains(observation.Evidence, "title") {
		t.Errorf("observed %+v", observation)
	}
}

// testScriptsAreNoText checks that sentences in scripts, styles and templates, which
// pages hold as data, are no text of the page.
func testScriptsAreNoText(t *testing.T, ctx context.Context, running *browser.Browser) {
	const lobby, ended = "Someone will let you in shortly", "The meeting has ended"
	page := openDocument(t, ctx, running, fmt.Sprintf(`<main><h1>Join<script>// %[1]s</script></h1><p>Teams<script>// %[1]s</script></p>
		<div role=status><style>/* %[2]s */</style><template>%[1]s</template><noscript>%[2]s</noscript>Loading</div>
		<div role=dialog aria-modal=true style="position:fixed;inset:100px">News<script>// %[2]s</script><button>OK<script>// x</script></button></div></main>`, lobby, ended))
	snapshot, err := siteOf(t, job.Teams).probe.snapshot(ctx, page)
	if err != nil {
		t.Fatal(err)
	}
	if read := fmt.Sprintf("%+v %+v %+v %s", snapshot.Texts, snapshot.Outline, snapshot.Over, snapshot.LobbyText); strings.Contains(read, lobby) || strings.Contains(read, ended) {
		t.Errorf("the probe read what scripts hold: %s", read)
	}
	if snapshot.Over == nil || snapshot.Over.Buttons[0].Label != "OK" || !slices.Contains(snapshot.Outline.Headings, "Join") {
		t.Errorf("the dialog is %+v, the headings are %q", snapshot.Over, snapshot.Outline.Headings)
	}
}

// testFluentSwitches checks that Teams' switches, whose checkboxes are transparent,
// are read and pressed.
func testFluentSwitches(t *testing.T, ctx context.Context, running *browser.Browser) {
	site := siteOf(t, job.Teams)
	page := openDocument(t, ctx, running, `<main><div class="fui-Switch" style="position:relative;width:40px;height:20px">
		<input type=checkbox role=switch data-tid="toggle-mute" checked style="opacity:0;position:absolute;width:40px;height:20px;margin:0"></div>
		<div class="fui-Switch" style="position:relative;width:40px;height:20px;opacity:0"><input type=checkbox role=switch data-tid="toggle-video"></div></main>`)
	state := func() Snapshot {
		t.Helper()
		snapshot, err := site.probe.snapshot(ctx, page)
		if err != nil {
			t.Fatal(err)
		}
		return snapshot
	}
	if before := state(); !before.clickable(microphoneOn) || before.Visible(microphoneOff) || before.Visible(cameraOff) {
		t.Errorf("before the click the elements are %+v", before.Elements)
	}
	if err := site.press(ctx, page, microphoneOn); err != nil {
		t.Fatal(err)
	}
	if after := state(); after.Visible(microphoneOn) || !after.Visible(microphoneOff) {
		t.Errorf("after the click the elements are %+v", after.Elements)
	}
}

// testTeamsSpeaking checks that the outline alone, which Teams always has, does not
// mean that somebody speaks.
func testTeamsSpeaking(t *testing.T, ctx context.Context, running *browser.Browser) {
	const tile = `<div data-cid="calling-participant-stream" aria-label="%s, muted">%s<div data-tid="voice-level-stream-outline" class="%s" style="width:9px;height:9px"></div></div>`
	page := openDocument(t, ctx, running, `<main>`+fmt.Sprintf(tile, "Ada", "Ada", "")+fmt.Sprintf(tile, "Ben", "Ben", "vdi-frame-occlusion")+teamsBar+`</main>`)
	observation := observeDocument(t, ctx, job.Teams, page, false)
	want := []Participant{{ID: "name:Ada", Name: "Ada"}, {ID: "name:Ben", Name: "Ben", Speaking: true}}
	if observation.Screen != InMeeting || !slices.Equal(observation.Participants, want) {
		t.Errorf("observed %+v, want %+v", observation, want)
	}
}

// testPeopleAndChat checks that participants and chat messages are read from the
// marks that the live pages are known to have.
func testPeopleAndChat(t *testing.T, ctx context.Context, running *browser.Browser) {
	page := openPage(t, ctx, running)
	for _, c := range []struct {
		platform     job.Platform
		document     string
		people       []string
		author, text string
	}{
		{
			job.Meet,
			`<main><div aria-label="Participants" role=list><div role=listitem aria-label="Ada">Ada</div>
			<div role=listitem aria-label="Merged audio">Merged audio</div></div><div data-participant-id=p1>Ada (Presentation)</div></main>
			<aside aria-label="Side panel"><div class="Ge9Kpc" aria-live=polite><div class="poVWob">Ada</div>
			<div data-message-id=m1><div jsname="dTKtvb">Hello, <b>Ben</b></div><button>React</button></div></div><textarea aria-label="Send a message"></textarea></aside>`,
			[]string{"Ada"}, "Ada", "Hello, Ben",
		},
		{
			job.Teams,
			`<main>` + teamsBar + `</main><div aria-label="Attendees" role=tree><div role=treeitem data-cid="roster-participant" aria-label="Ada External unfamiliar, muted"><span data-tid="participant-info-nametag">Ada</span></div></div>
			<div data-tid="chat-pane-message" data-mid="1"><span data-tid="message-author-name">Ada</span><div id="content-1">Hello</div></div>`,
			[]string{"Ada"}, "Ada", "Hello",
		},
		{
			job.ZoomWeb,
			`<div class=meeting-app>` + zoomBar + `<div class="participants-li" role=listitem aria-label="Ada (Host), computer audio muted">A</div>
			<div role=grid aria-label="Chat Message List"><div role=row aria-label="Ada to Everyone, Hello"><p class="new-chat-message__text-box">Hello</p></div></div></div>`,
			[]string{"Ada"}, "Ada", "Hello",
		},
	} {
		t.Run(string(c.platform), func(t *testing.T) {
			showDocument(t, ctx, page, c.document)
			site := siteOf(t, c.platform)
			snapshot := snapshotOf(t, ctx, site, page)
			var people []string
			for _, row := range snapshot.Rows {
				people = append(people, row.Names[0])
			}
			if len(snapshot.Tiles) > 0 {
				t.Errorf("tiles that are no people: %+v", snapshot.Tiles)
			}
			if !slices.Equal(people, c.people) {
				t.Errorf("the participants are %q, want %q", people, c.people)
			}
			if len(snapshot.Chat) != 1 || snapshot.Chat[0].Author != c.author || snapshot.Chat[0].Text != c.text {
				t.Errorf("the chat is %+v, want %q by %q", snapshot.Chat, c.text, c.author)
			}
		})
	}
}

// testZoomAllowsDevices checks that Zoom's device dialog is answered by Allow:
// without it Zoom plays no sound.
func testZoomAllowsDevices(t *testing.T, ctx context.Context, running *browser.Browser) {
	page := openDocument(t, ctx, running, `<input id=input-for-name><button class="preview-join-button">Join</button>
		<div role=dialog class=zm-modal><button>Continue without microphone and camera</button><button>Allow</button></div>`)
	observation := observeDocument(t, ctx, job.ZoomWeb, page, false)
	if len(observation.Notices) == 0 || observation.Notices[0] != allowDevices {
		t.Errorf("the notices are %q, want %q first", observation.Notices, allowDevices)
	}
}

// testDialogs checks what is pressed in dialogs over the page: buttons that the
// profile knows, or else the safest button.
func testDialogs(t *testing.T, ctx context.Context, running *browser.Browser) {
	const preJoin = `<input type=text aria-label="Your name" value=Standin><button>Ask to join</button>`
	dialog := func(text string, buttons ...string) string {
		html := `<div role=dialog aria-modal=true class=zm-modal style="position:fixed;inset:100px;background:#fff"><p>` + text + `</p>`
		for _, one := range buttons {
			html += `<button onclick="document.title=this.textContent;this.closest('[role=dialog]').remove()">` + one + `</button>`
		}
		return html + `</div>`
	}
	page := openPage(t, ctx, running)
	for _, c := range []struct {
		platform       job.Platform
		name, document string
		want           string // the pressed button
	}{
		{job.Meet, "nudge", preJoin + dialog("Sign in with your Google Account. Instead of waiting to be let in, join meetings directly", "Sign in", "Dismiss"), "Dismiss"},
		{job.Meet, "nobody else", preJoin + dialog("Are you still there?", "Leave now", "Stay in the call"), "Stay in the call"},
		{job.ZoomWeb, "terms", zoomBar + dialog("Terms of Example Inc.", "Cancel") + `<button id=disclaimer_agree onclick="document.title=this.textContent" style="position:fixed;top:10px;left:10px;z-index:9">Accept all of it</button>`, "Accept all of it"},
		{job.Meet, "account chooser", preJoin + dialog("Choose an account", "ada@example.org", "Use without an account"), "Use without an account"},
		{job.Meet, "devices", preJoin + dialog("Do you want people to see and hear you in the meeting?", "Use microphone and camera", "Continue without microphone and camera"), "Continue without microphone and camera"},
		{job.Meet, "consent", preJoin + dialog("This video call is being recorded", "Leave meeting", "Join now"), "Join now"},
		{job.Meet, "consent in Japanese", preJoin + dialog("このビデオ通話は録画されています", "会議から退出", "今すぐ参加"), "今すぐ参加"},
		{job.Meet, "unknown words", preJoin + dialog("Meet your new view", "Try it", "Not now"), "Not now"},
		{job.Meet, "unknown words over a tip", preJoin + `<button>Got it</button>` + dialog("Something fresh", "Try it", "Not now"), "Not now"},
		{job.Teams, "no devices", preJoin + dialog("Are you sure you don't want audio or video?", "Continue without audio or video"), "Continue without audio or video"},
		{job.Teams, "no devices in Arabic", preJoin + dialog("هل أنت متأكد؟", "المتابعة بدون صوت أو فيديو"), "المتابعة بدون صوت أو فيديو"},
		{job.ZoomWeb, "AI Companion", `<div class=meeting-app>` + zoomTile + zoomBar + `</div>` + dialog("AI Companion is on in this meeting", "OK"), "OK"},
		{job.ZoomWeb, "muted microphone", `<div class=meeting-app>` + zoomTile + zoomBar + `</div>` + dialog("Your mic is muted", "OK"), "OK"},
		{job.ZoomWeb, "a layer without a role", `<div class=meeting-app>` + zoomTile + zoomBar + `</div><div style="position:fixed;inset:0;background:#eee"><p>A survey</p>
			<button>Start</button><button onclick="document.title=this.textContent;this.parentElement.remove()">No thanks</button></div>`, "No thanks"},
		{job.ZoomWeb, "only a way out", `<div class=meeting-app>` + zoomTile + zoomBar + `</div>` + dialog("Are you still there?", "Leave Meeting", "End call"), ""},
	} {
		t.Run(string(c.platform)+"/"+c.name, func(t *testing.T) {
			showDocument(t, ctx, page, `<script>document.title=""</script>`+c.document)
			site := siteOf(t, c.platform)
			site.visit.past.Admitted = strings.Contains(c.document, "meeting-app")
			now := time.Now()
			title := ""
			for range 5 {
				if err := site.HandleNotices(ctx, page, site.observe(snapshotOf(t, ctx, site, page), now)); err != nil {
					t.Fatal(err)
				}
				now = now.Add(dialogTime)
				if err := page.EvalInPage(ctx, "document.title", &title); err != nil {
					t.Fatal(err)
				}
				if title != "" {
					break
				}
			}
			if title != c.want {
				t.Errorf("pressed %q, want %q", title, c.want)
			}
		})
	}
}

// testProbeInFrames checks that elements in frames are found, reported as covered
// when an element of the page lies over the frame, and clicked.
func testProbeInFrames(t *testing.T, ctx context.Context, running *browser.Browser) {
	site := siteOf(t, job.ZoomWeb)
	button := `<body style="margin:0"><button class="preview-join-button" style="margin:120px 0 0 90px" onclick="parent.document.title='pressed'">Join</button>`
	page := openDocument(t, ctx, running, `<div style="height:70px"></div>`+framed(framed(button))+
		`<div id=cover style="position:fixed;inset:0;background:#fff"></div>`)
	snapshot := func() Snapshot {
		t.Helper()
		seen, err := site.probe.snapshot(ctx, page)
		if err != nil {
			t.Fatal(err)
		}
		return seen
	}
	if !snapshot().Visible(joinButton) || !snapshot().Elements[joinButton].Covered {
		t.Error("the button in the inner frame is not found, or is not reported as covered")
	}
	if err := page.EvalInPage(ctx, `document.getElementById("cover").remove()`, nil); err != nil {
		t.Fatal(err)
	}
	if snapshot().Elements[joinButton].Covered {
		t.Error("the button is reported as covered, but nothing lies over it")
	}
	if err := page.ClickElement(ctx, site.probe.element(joinButton)); err != nil {
		t.Fatal(err)
	}
	var title string
	script := `document.querySelector("iframe").contentDocument.title`
	if err := page.EvalInPage(ctx, script, &title); err != nil || title != "pressed" {
		t.Errorf("after the click the frame's title is %q, %v", title, err)
	}
}

// testProbeNamesABadSelector checks that the error for a selector that only a
// browser can reject names it.
func testProbeNamesABadSelector(t *testing.T, ctx context.Context, running *browser.Browser) {
	profile, err := ParseProfile("custom.yaml", []byte(strings.Replace(small, "css: button", "css: 'button::no('", 1)))
	if err == nil {
		t.Fatalf("the profile is valid: %+v", profile)
	}
	profile, err = ParseProfile("custom.yaml", []byte(strings.Replace(small, "css: button", "css: 'button:no-such'", 1)))
	if err != nil {
		t.Fatal(err)
	}
	probe, err := newProbe(profile)
	if err != nil {
		t.Fatal(err)
	}
	_, err = probe.snapshot(ctx, openDocument(t, ctx, running, ""))
	var script *browser.ScriptError
	if !errors.As(err, &script) || !strings.Contains(err.Error(), "button:no-such") {
		t.Errorf("error = %v; want a ScriptError that names the selector", err)
	}
}

// testInspect checks the result for each element and the order of the results.
func testInspect(t *testing.T, ctx context.Context, running *browser.Browser) {
	page := openDocument(t, ctx, running, `<div class=meeting-app>`+zoomTile+zoomBar+`<input id=inputname value="secret value"><button id=moreButton style="display:none">More</button></div>`)
	inspection, err := Inspect(ctx, page, siteOf(t, job.ZoomWeb).profile)
	if err != nil {
		t.Fatal(err)
	}
	if inspection.Screen == Unknown || inspection.Evidence == "" {
		t.Errorf("the inspection is %+v", inspection)
	}
	states := make(map[string]InspectedElement)
	last := ""
	for _, element := range inspection.Elements {
		if element.Name <= last {
			t.Errorf("%s comes after %s", element.Name, last)
		}
		last = element.Name
		states[element.Name] = element
	}
	for name, want := range map[string]InspectedElement{
		nameInput:   {State: ElementVisible, Candidate: 2, Selector: "#inputname"},
		moreButton:  {State: ElementHidden, Candidate: 1, Selector: "#moreButton"},
		leaveButton: {State: ElementVisible, Candidate: 1, Selector: `button[aria-label="Leave"]`, Text: "Leave"},
		captcha:     {State: ElementMissing},
	} {
		want.Name = name
		if states[name] != want {
			t.Errorf("inspected %+v, want %+v", states[name], want)
		}
	}
	if text := fmt.Sprintf("%+v", inspection); strings.Contains(text, "secret value") {
		t.Errorf("the inspection contains the value of a field: %s", text)
	}
}

// testUnknownPage checks the error for a page that never becomes a meeting.
func testUnknownPage(t *testing.T, ctx context.Context, running *browser.Browser) {
	for platform := range replicaPlatforms() {
		t.Run(string(platform), func(t *testing.T) {
			t.Parallel()
			page := openDocument(t, ctx, running, `<main><h1>Under construction</h1><p style="display:none">nothing</p></main>
				<iframe srcdoc="<p>More to read</p>"></iframe>`)
			site := siteOf(t, platform)
			short, cancel := context.WithTimeout(ctx, 8*time.Second) // for one observation on a busy machine
			defer cancel()
			err := site.Join(short, page, JoinOptions{Name: "Standin"})
			var stopped *ScreenError
			if !errors.As(err, &stopped) || stopped.Observation.Screen != Unknown || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("joining: %v; want a ScreenError with an unknown page and the deadline", err)
			}
		})
	}
}

// testPageGone checks that a closed page is reported at once.
func testPageGone(t *testing.T, ctx context.Context, running *browser.Browser) {
	page := openDocument(t, ctx, running, "")
	page.Close()
	site := siteOf(t, job.Teams)
	if err := site.Join(ctx, page, JoinOptions{Name: "Standin"}); !errors.Is(err, browser.ErrPageClosed) {
		t.Errorf("joining on a closed page: %v, want %v", err, browser.ErrPageClosed)
	}
	if _, err := site.Observe(ctx, page); !errors.Is(err, browser.ErrPageClosed) {
		t.Errorf("observing a closed page: %v, want %v", err, browser.ErrPageClosed)
	}
}
