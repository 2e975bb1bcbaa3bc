package meeting

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"standin/internal/bot/browser"
	"standin/internal/job"
)

// testPeopleList checks that everybody in a long list of people is known, although the
// page draws a few tiles and the rows in view, and that the list is hidden and closed.
func testPeopleList(t *testing.T, ctx context.Context, running *browser.Browser) {
	// list is a script that draws the rows in view of 40 people, of whom two have one
	// name, and says whether the panel was seen.
	const list = `<script>{
		const names = Array.from({length: 40}, (_, i) => i === 20 ? "Person 19" : "Person " + i);
		names.splice(5, 0, "Standin");
		window.toggle = () => {
			const old = document.getElementById("panel");
			if (old) { old.remove(); return; }
			document.body.insertAdjacentHTML("beforeend", ` + "`%s`" + `);
			const box = document.getElementById("scroller"), inner = box.firstElementChild;
			const draw = () => {
				const first = Math.floor(box.scrollTop / 30);
				inner.innerHTML = names.map((name, i) => ({name, i})).slice(first, first + 8).map(({name, i}) =>
					'<div style="position:absolute;height:30px;top:' + 30 * i + 'px">' + row(name, i) + '</div>').join("");
			};
			inner.style.cssText = "position:relative;height:" + 30 * names.length + "px";
			box.style.cssText = "height:200px;overflow-y:auto";
			box.onscroll = draw;
			draw();
			setTimeout(() => { if (document.getElementById("panel").checkVisibility({opacityProperty: true}) && getComputedStyle(document.getElementById("panel")).opacity > 0.01) document.title = "seen"; });
		};
		%s
		}</script>`
	tiles := func(format string) (html string) {
		for i := range 9 {
			html += strings.ReplaceAll(format, "NAME", fmt.Sprintf("Person %d", i))
		}
		return html
	}
	page := openPage(t, ctx, running)
	for _, c := range []struct {
		platform             job.Platform
		document, panel, row string
	}{
		{
			job.Meet,
			`<main>` + tiles(`<div data-participant-id="d/NAME" style="width:9px;height:9px"><i class="google-symbols notranslate">mic_off</i><span class=notranslate>NAME</span></div>`) +
				`</main><div style="display:none"><button aria-label="People - 41 joined" onclick="toggle()">p</button></div><button aria-label="Leave call">x</button><button aria-label="Chat with everyone">c</button><button aria-label="Turn on captions">c</button>`,
			`<aside id=panel><div role=list id=scroller aria-label="Mitwirkende"><div></div></div></aside>`,
			`const row = (name, i) => '<div role=listitem aria-label="' + name + '"><i class="google-symbols notranslate">mic_off</i><span class=notranslate>' + name + '</span>' + (name === "Standin" ? "<span>(Du)</span>" : "") + '</div>';`,
		},
		{
			job.Teams,
			`<main>` + tiles(`<div data-cid="calling-participant-stream" data-stream-type=Video data-tid="x@example.org" aria-label="NAME External unfamiliar, muted" style="width:0;height:0">NAME</div>`) + teamsBar +
				`<div style="opacity:0"><button data-tid="call-roster" aria-label="People 41" onclick="toggle()">p</button></div></main>`,
			`<div id=panel role=complementary data-tid="calling-roster"><div role=tree id=scroller><div></div></div></div>`,
			`const row = (name, i) => '<div role=treeitem data-cid="roster-participant" data-acc-element-id="r' + i + '" aria-label="' + name + ' (Guest), External unfamiliar"><span data-tid="participant-info-nametag">' + name + (name === "Standin" ? " (You)" : i % 2 ? " (Guest)" : "") + '</span></div>';`,
		},
		{
			job.ZoomWeb,
			`<div class=meeting-app><div class="single-main-container__video-frame"><div class="video-avatar__avatar-footer">Person 3</div></div>
				<div id=wc-footer><button aria-label="open the chat panel">c</button><button aria-label=Leave>x</button>
				<div style="display:none"><button aria-label="open the participants list pane, 41 participants" onclick="toggle()">p</button></div></div></div>`,
			`<div id=panel class="participants-wrapper__inner"><div id=scroller><div></div></div></div>`,
			`const row = (name, i) => '<div class="participants-li" role=listitem aria-label="' + name + (name === "Standin" ? " (Me)" : i === 7 ? " (Host)" : "") + ', computer audio muted">' + name + '</div>';`,
		},
	} {
		t.Run(string(c.platform), func(t *testing.T) {
			showDocument(t, ctx, page, c.document+fmt.Sprintf(list, c.panel, c.row))
			site := siteOf(t, c.platform)
			site.visit.past = History{OwnName: "Standin", Requested: true, Admitted: true}
			site.visit.last = InMeeting
			if err := site.ReadPeople(ctx, page); err != nil {
				t.Fatal(err)
			}
			seen, err := site.Observe(ctx, page)
			if err != nil {
				t.Fatal(err)
			}
			var names, want []string
			for _, one := range seen.Participants {
				names = append(names, one.Name)
			}
			for i := range 40 {
				want = append(want, fmt.Sprintf("Person %d", i))
			}
			want[20] = "Person 19"
			slices.Sort(names)
			slices.Sort(want)
			if !slices.Equal(names, want) || seen.Others != 40 {
				t.Errorf("%d others are %d: %q", seen.Others, len(names), names)
			}
			var title string
			var open bool
			if err := page.EvalInPage(ctx, "document.title", &title); err != nil || title == "seen" {
				t.Errorf("the list was seen: %q, %v", title, err)
			}
			if err := page.EvalInPage(ctx, `document.getElementById("panel") !== null`, &open); err != nil || open {
				t.Errorf("the list is open: %t, %v", open, err)
			}
		})
	}
}

// testMarks checks that the marks of Zoom's present client and marks without a size
// count, and that they count when levels of 0 say nothing.
func testMarks(t *testing.T, ctx context.Context, running *browser.Browser) {
	page := openPage(t, ctx, running)
	for name, c := range map[string]struct {
		platform job.Platform
		document string
		want     string
	}{
		"the main tile":       {job.ZoomWeb, `<div class=meeting-app><div class="single-main-container__video-frame"><video-player></video-player><div class="video-avatar__avatar-footer">Ben</div></div><div class="speaker-bar-container__video-frame"><div class="video-avatar__avatar-footer">Ada</div></div>` + zoomBar + `</div>`, "Ben"},
		"while sharing":       {job.ZoomWeb, `<div class=meeting-app><div id=video-share-layout><video-player style="display:block;height:99px"></video-player></div><div class="single-suspension-container__video-frame"><div class="video-avatar__avatar-footer">Ada</div></div>` + zoomBar + `</div>`, "Ada"},
		"a mark without size": {job.Meet, `<main><div data-participant-id=a>` + `<span class=notranslate>Ada</span><div class="Oaajhc" style="width:0;height:0"></div></div><div data-participant-id=b><span class=notranslate>Ben</span><div class="gjg47c"></div></div></main><button aria-label="Leave call">x</button>`, "Ada"},
		"a hidden mark":       {job.Meet, `<main><div data-participant-id=a><span class=notranslate>Ada</span><div class="Oaajhc" style="display:none"></div></div></main><button aria-label="Leave call">x</button>`, ""},
	} {
		showDocument(t, ctx, page, c.document)
		site := siteOf(t, c.platform)
		site.visit.past = History{OwnName: "Standin", Requested: true, Admitted: true}
		snapshot := snapshotOf(t, ctx, site, page)
		zero := 0.0
		snapshot.Audio = []AudioTrack{{Track: "mix", Level: &zero}}
		seen := site.observe(snapshot, time.Now())
		marked := ""
		for _, one := range seen.Participants {
			if slices.Contains(seen.Marked, one.ID) {
				marked += one.Name
			}
		}
		if marked != c.want {
			t.Errorf("%s: %q is marked, want %q; observed %s %+v", name, marked, c.want, seen.Screen, seen.Participants)
		}
	}
}
