package meeting

import (
	"fmt"
	"testing"
	"time"

	"standin/internal/bot/browser"
	"standin/internal/jobs/job"
	"standin/internal/replica"
)

// placesScript returns what is seen of each name on the page: the share of the picture of
// the largest tile that has it, and how opaque that is. The presentation is "slides".
const placesScript = `(() => {
	const doc = document.querySelector("iframe")?.contentDocument ?? document;
	const opacity = element => {
		let product = 1;
		for (; element; element = element.parentElement) product *= Number(getComputedStyle(element).opacity);
		return product;
	};
	const seen = {};
	const add = (name, element) => {
		const box = element.getBoundingClientRect();
		const width = Math.min(box.right, innerWidth) - Math.max(box.left, 0), height = Math.min(box.bottom, innerHeight) - Math.max(box.top, 0);
		const share = opacity(element) < 0.01 || width <= 0 || height <= 0 ? 0 : width * height / innerWidth / innerHeight;
		seen[name] = Math.max(seen[name] ?? 0, share);
	};
	for (const tile of doc.querySelectorAll('[data-participant-id]:not(.presentation), [data-cid="calling-participant-stream"], .gallery-video-container__video-frame')) {
		add(tile.querySelector(".name, .video-avatar__avatar-footer").textContent, tile);
	}
	for (const video of doc.querySelectorAll(".presentation video")) add("slides", video);
	for (const bar of doc.querySelectorAll(".bar, .footer")) add("controls", bar);
	return seen;
})()`

// TestPictureLayouts joins a meeting of each platform and checks the picture of each
// layout: what is large, and that nothing of the bot and of the page's controls is seen.
func TestPictureLayouts(t *testing.T) {
	t.Parallel()
	ctx, running := launchBrowser(t)
	media, err := replica.PrepareSmallMedia(ctx, replica.MediaFolder())
	if err != nil {
		t.Skip(err)
	}
	everyone := []string{"Ada Quill", "Ben Moor", "Cleo Tan", "Dan Webb"}
	for platform := range replicaPlatforms() {
		t.Run(string(platform), func(t *testing.T) {
			s := newEnvWith(t, ctx, running, platform, replica.Options{Media: media})
			meeting, page := s.inside(t, replica.Settings{Participants: []replica.Participant{
				{Name: everyone[0], Beeps: true}, {Name: everyone[1], Muted: true}, {Name: everyone[2], Muted: true}, {
					Name: everyone[3], CameraOff: true, Muted: true,
				},
			}})
			for _, c := range []struct {
				layout     job.Layout
				presenting bool
				seen       map[string][2]float64 // least and greatest share of the picture
			}{
				{job.LayoutSpeaker, false, map[string][2]float64{
					"Ada Quill": {0.7, 0.9}, "Ben Moor": {0.02, 0.1}, "Cleo Tan": {0.02, 0.1}, "Dan Webb": {0.02, 0.1},
				}},
				{job.LayoutGallery, false, map[string][2]float64{
					"Ada Quill": {0.22, 0.26}, "Ben Moor": {0.22, 0.26}, "Cleo Tan": {0.22, 0.26}, "Dan Webb": {0.22, 0.26},
				}},
				{job.LayoutContent, false, map[string][2]float64{"Ada Quill": {0.7, 0.9}, "Ben Moor": {0.02, 0.1}}},
				{job.LayoutSpeaker, true, map[string][2]float64{"slides": {0.7, 0.9}, "Ada Quill": {0.02, 0.1}, "Dan Webb": {0.02, 0.1}}},
				{job.LayoutGallery, true, map[string][2]float64{"slides": {0.1, 0.25}, "Ada Quill": {0.1, 0.25}, "Dan Webb": {0.1, 0.25}}},
				{job.LayoutContent, true, map[string][2]float64{"slides": {0.8, 1}, "Ada Quill": {0.005, 0.05}, "Ben Moor": {0, 0}}},
			} {
				if err := meeting.SetPresenting("Ben Moor", c.presenting); err != nil {
					t.Fatal(err)
				}
				c.seen["Standin"], c.seen["controls"] = [2]float64{}, [2]float64{}
				s.arranged(t, page, fmt.Sprintf("%s, presenting %t", c.layout, c.presenting), c.layout, c.seen)
			}
			s.arranged(t, page, "the page as it is", job.LayoutPage, map[string][2]float64{"Standin": {0.01, 0.3}})
		})
	}
}

// arranged arranges the page until each name has its share of the picture.
func (s env) arranged(t *testing.T, page *browser.Page, what string, layout job.Layout, want map[string][2]float64) {
	t.Helper()
	var seen map[string]float64
	for deadline := time.Now().Add(30 * time.Second); ; {
		observation, err := s.site.Observe(s.ctx, page)
		if err == nil {
			err = s.site.Arrange(s.ctx, page, observation, layout)
		}
		if err == nil {
			err = s.site.HandleNotices(s.ctx, page, observation)
		}
		if err == nil {
			err = page.Eval(s.ctx, placesScript, &seen)
		}
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		wrong := ""
		for name, share := range want {
			if seen[name] < share[0] || seen[name] > share[1] {
				wrong = name
			}
		}
		if wrong == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("%s: %s has a share of %.3f of the picture, want %.2f to %.2f; all: %v", what, wrong, seen[wrong], want[wrong][0],
				want[wrong][1], seen)
			return
		}
	}
}

// TestRecordingNotice checks that Meet's notice that the meeting is recorded stays visible
// in the arranged picture, unlike the page's controls.
func TestRecordingNotice(t *testing.T) {
	t.Parallel()
	ctx, running := launchBrowser(t)
	page := openPage(t, ctx, running)
	for _, notice := range []string{
		`<div id=notice role=status style="position:fixed;top:8px;left:8px">This video call is being recorded</div>`,
		`<div id=notice role=alert style="position:fixed;top:8px;left:8px">Dieser Videoanruf wird aufgezeichnet</div>`,
		`<div style="position:fixed;top:0;left:0"><span id=notice aria-label="This call is being recorded"><i>●</i> REC</span></div>`,
		`<div id=notice role=dialog aria-modal=true style="position:fixed;top:90px;left:90px;width:300px;height:200px;background:#fff">This video call is being recorded<button>Join now</button></div>`,
	} {
		showDocument(t, ctx, page, `<main><div class=oZRSLe data-participant-id=p1 style="width:300px;height:200px"><span class=notranslate>Ada Quill</span></div></main>
			<div id=bar role=region aria-label="Call controls" style="position:fixed;bottom:0;left:0;width:400px"><button aria-label="Leave call">x</button><button aria-label="Turn on microphone">m</button></div>`+notice)
		site := siteOf(t, job.Meet)
		site.visit.past.Admitted = true
		observation, err := site.Observe(ctx, page)
		if err != nil {
			t.Fatal(err)
		}
		if err := site.Arrange(ctx, page, observation, job.LayoutSpeaker); err != nil {
			t.Fatal(err)
		}
		var opacity struct{ Notice, Bar float64 }
		if err := page.Eval(ctx, `(() => {
			const opacity = id => {
				let product = 1;
				for (let element = document.getElementById(id); element; element = element.parentElement) product *= Number(getComputedStyle(element).opacity);
				return product;
			};
			return {notice: opacity("notice"), bar: opacity("bar")};
		})()`, &opacity); err != nil {
			t.Fatal(err)
		}
		if opacity.Notice != 1 || opacity.Bar > 0.01 {
			t.Errorf("%s on %s: the notice has the opacity %g, the controls %g", notice, observation.Screen, opacity.Notice, opacity.Bar)
		}
	}
}
