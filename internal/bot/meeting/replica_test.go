package meeting

import (
	"context"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"standin/internal/bot/browser"
	"standin/internal/jobs/job"
	"standin/internal/replica"
	"standin/internal/testing/replicatest"
)

// replicaPlatforms returns the replica of each platform.
func replicaPlatforms() map[job.Platform]replica.Platform {
	return map[job.Platform]replica.Platform{job.Meet: replica.Meet, job.Teams: replica.Teams, job.ZoomWeb: replica.Zoom}
}

// pagesAtOnce is how many pages a test opens at the same time. They mostly wait, so
// there may be more of them than processors, but each takes CPU time while it waits.
const pagesAtOnce = 4

// rowTimeout limits one visit.
const rowTimeout = 2 * time.Minute

// row is one visit of a platform's replica, with its own adapter.
type row struct {
	name string
	test func(t *testing.T, s env)
}

// TestPlatforms visits the replicas of all platforms, several at once in one
// browser. Its rows are named after the platform and their table. The short run evaluates
// the records of what they awaited.
func TestPlatforms(t *testing.T) {
	t.Parallel()
	kept := readRecords(t, "platforms")
	if testing.Short() {
		for page := range kept.Pages {
			kept.check(t, page)
		}
		return
	}
	ctx, running := launchBrowser(t)
	positions := make(chan struct{}, pagesAtOnce)
	var visits sync.WaitGroup
	defer visits.Wait()
	for _, table := range []struct {
		name string
		rows func(replica.Platform) []row
	}{
		{"usual", usualRows}, {"outcome", outcomeRows}, {"wall", wallRows}, {"passcode", passcodeRows},
		{"inside", insideRows}, {"send", sendRows}, {"texts", textsRows},
	} {
		for platform, replicaPlatform := range replicaPlatforms() {
			for _, row := range table.rows(replicaPlatform) {
				positions <- struct{}{}
				visits.Go(func() {
					defer func() { <-positions }()
					t.Run(path.Join(string(platform), table.name, row.name), func(t *testing.T) {
						ctx, cancel := context.WithTimeout(ctx, rowTimeout)
						defer cancel()
						s := newEnv(t, ctx, running, platform)
						s.kept = kept
						row.test(t, s)
					})
				})
			}
		}
	}
}

// env is a platform's replica and an adapter for one visit.
type env struct {
	ctx             context.Context
	browser         *browser.Browser
	server          *replica.Server
	site            *site
	replicaPlatform replica.Platform
	kept            *records // of what is awaited; may be nil
}

// newEnv starts a replica until the end of the test. Each visit has its own,
// because a browser opens at most six connections to one server, and each page of
// the replica holds one.
func newEnv(t *testing.T, ctx context.Context, running *browser.Browser, platform job.Platform) env {
	t.Helper()
	return newEnvWith(t, ctx, running, platform, replica.Options{})
}

// newEnvWith is newEnv with options of the replica.
func newEnvWith(t *testing.T, ctx context.Context, running *browser.Browser, platform job.Platform, options replica.Options) env {
	t.Helper()
	return env{
		ctx: ctx, browser: running, server: replicatest.Start(t, options), site: siteOf(t, platform),
		replicaPlatform: replicaPlatforms()[platform],
	}
}

// visit opens a meeting of the replica in a new page.
func (s env) visit(t *testing.T, settings replica.Settings) (*replica.Meeting, *browser.Page, Address) {
	t.Helper()
	settings.Platform = s.replicaPlatform
	meeting, err := s.server.Open(settings)
	if err != nil {
		t.Fatalf("opening a meeting: %v", err)
	}
	address, err := s.site.Address(meeting.URL())
	if err != nil {
		t.Fatalf("the replica's address %q: %v", meeting.URL(), err)
	}
	return meeting, s.open(t, address.URL), address
}

// open opens a page on an address, for the rest of the test.
func (s env) open(t *testing.T, address string) *browser.Page {
	t.Helper()
	page := openPage(t, s.ctx, s.browser)
	if err := page.Navigate(s.ctx, address); err != nil {
		t.Fatalf("opening %q: %v", address, err)
	}
	return page
}

// joined visits a meeting without its launcher and requests to join as Standin.
func (s env) joined(t *testing.T, settings replica.Settings) (*replica.Meeting, *browser.Page) {
	t.Helper()
	settings.NoLauncher = s.replicaPlatform != replica.Meet // which has none
	meeting, page, address := s.visit(t, settings)
	if err := s.site.Join(s.ctx, page, JoinOptions{Name: "Standin", Passcode: address.Passcode}); err != nil {
		s.report(t, page)
		t.Fatalf("joining: %v", err)
	}
	return meeting, page
}

// inside joins a meeting and waits until the meeting is observed.
func (s env) inside(t *testing.T, settings replica.Settings) (*replica.Meeting, *browser.Page) {
	t.Helper()
	settings.NoLobby = true
	meeting, page := s.joined(t, settings)
	s.await(t, page, "the meeting", on(InMeeting))
	return meeting, page
}

// await calls await with the env's adapter, and keeps a record of the result.
func (s env) await(t *testing.T, page *browser.Page, what string, wanted func(Observation) bool) Observation {
	t.Helper()
	seen := await(t, s.ctx, s.site, page, what, wanted)
	if s.kept != nil {
		_, visit, _ := strings.Cut(t.Name(), "/")
		s.kept.keep(t, visit+": "+what, false, record{
			Platform: s.site.platform.name, Known: seen.Captured.Known, Snapshot: seen.Captured.Snapshot,
		})
	}
	return seen
}

// report logs what the page shows.
func (s env) report(t *testing.T, page *browser.Page) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), 5*time.Second)
	defer cancel()
	inspection, err := Inspect(ctx, page, s.site.profile)
	t.Logf("the page shows %+v, %v", inspection, err)
}

// until observes and tidies the page until a condition holds.
func (s env) until(t *testing.T, page *browser.Page, what string, happened func() bool) {
	t.Helper()
	s.await(t, page, what, func(Observation) bool { return happened() })
}

func countEvents(meeting *replica.Meeting, kind replica.EventKind) int {
	count := 0
	for _, event := range meeting.Events() {
		if event.Kind == kind {
			count++
		}
	}
	return count
}

// wantPeople checks the participants, in any order.
func wantPeople(t *testing.T, observation Observation, others int, names ...string) {
	t.Helper()
	var got []string
	for _, one := range observation.Participants {
		got = append(got, one.Name)
	}
	slices.Sort(got)
	if !slices.Equal(got, names) || observation.Others != others {
		t.Errorf("people = %q, %d others; want %q, %d", got, observation.Others, names, others)
	}
}

// wantTrackOwner has a tile of the meeting play a track, and checks that the
// track's owner is that participant.
func (s env) wantTrackOwner(t *testing.T, page *browser.Page) {
	t.Helper()
	const play = `(() => {
		const tiles = document.querySelectorAll('[data-participant-id], [data-cid="calling-participant-stream"], .gallery-video-container__video-frame');
		const tile = [...tiles].find(one => one.textContent.includes("Ada Quill"));
		const {stream} = new AudioContext().createMediaStreamDestination();
		tile.append(Object.assign(document.createElement("audio"), {srcObject: stream}));
		return stream.getAudioTracks()[0].id;
	})()`
	var track string
	if err := page.EvalInPage(s.ctx, play, &track); err != nil {
		t.Fatal(err)
	}
	s.await(t, page, "the track to be Ada's", func(o Observation) bool {
		ada := slices.IndexFunc(o.Participants, func(one Participant) bool { return one.Name == "Ada Quill" })
		return ada >= 0 && slices.Contains(o.TrackOwners, TrackOwner{Track: track, ParticipantID: o.Participants[ada].ID})
	})
}
