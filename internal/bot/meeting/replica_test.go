package meeting

import (
	"context"
	"os"
	"path"
	"slices"
	"sync"
	"testing"
	"time"

	"standin/internal/bot/browser"
	"standin/internal/job"
	"standin/internal/replica"
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
	// turn is the platform on which the default run visits the row; empty: each.
	turn replica.Platform
}

// isVisited reports whether this run visits the row of a table on a platform. The short
// run visits the usual rows on each, and the others in turn.
func (r row) isVisited(table string, index int, on replica.Platform) bool {
	all := []replica.Platform{replica.Meet, replica.Teams, replica.Zoom}
	switch {
	case os.Getenv("STANDIN_TEST_MATRIX") == "full":
		return true
	case r.turn != "" || table == "usual" || !testing.Short():
		return r.turn == "" || r.turn == on
	}
	return all[index%len(all)] == on
}

// TestPlatforms visits the replicas of all platforms, several at once in one
// browser. Its rows are named after the platform and their table. With
// STANDIN_TEST_MATRIX=full (make matrix) each row visits every platform.
func TestPlatforms(t *testing.T) {
	t.Parallel()
	ctx, running := launchBrowser(t)
	pages := newPagePool(running)
	positions := make(chan struct{}, pagesAtOnce)
	var visits sync.WaitGroup
	defer visits.Wait()
	for _, table := range []struct {
		name string
		rows func(replica.Platform) []row
	}{
		{"usual", usualRows}, {"outcome", outcomeRows}, {"wall", wallRows}, {"passcode", passcodeRows},
		{"launcher", launcherRows}, {"inside", insideRows}, {"send", sendRows}, {"leaving", leavingRows}, {"framed", framedRows},
	} {
		for platform, replicaPlatform := range replicaPlatforms() {
			for i, row := range table.rows(replicaPlatform) {
				if !row.isVisited(table.name, i, replicaPlatform) {
					continue
				}
				positions <- struct{}{}
				visits.Go(func() {
					defer func() { <-positions }()
					t.Run(path.Join(string(platform), table.name, row.name), func(t *testing.T) {
						ctx, cancel := context.WithTimeout(ctx, rowTimeout)
						defer cancel()
						row.test(t, newEnv(t, ctx, pages, platform))
					})
				})
			}
		}
	}
}

// env is a platform's replica and an adapter for one visit.
type env struct {
	ctx             context.Context
	pages           pagePool
	server          *replica.Server
	site            *site
	replicaPlatform replica.Platform
}

// newEnv starts a replica until the end of the test. Each visit has its own,
// because a browser opens at most six connections to one server, and each page of
// the replica holds one.
func newEnv(t *testing.T, ctx context.Context, pages pagePool, platform job.Platform) env {
	t.Helper()
	return newEnvWith(t, ctx, pages, platform, replica.Options{})
}

// newEnvWith is newEnv with options of the replica.
func newEnvWith(t *testing.T, ctx context.Context, pages pagePool, platform job.Platform, options replica.Options) env {
	t.Helper()
	server, err := replica.Start(ctx, options)
	if err != nil {
		t.Fatalf("starting the replica: %v", err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Errorf("closing the replica: %v", err)
		}
	})
	return env{ctx: ctx, pages: pages, server: server, site: siteOf(t, platform), replicaPlatform: replicaPlatforms()[platform]}
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
	return s.pages.open(t, s.ctx, address)
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

// await calls await with the env's adapter.
func (s env) await(t *testing.T, page *browser.Page, what string, wanted func(Observation) bool) Observation {
	t.Helper()
	return await(t, s.ctx, s.site, page, what, wanted)
}

// report logs what the page shows.
func (s env) report(t *testing.T, page *browser.Page) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), 5*time.Second)
	defer cancel()
	inspection, err := Inspect(ctx, page, s.site.profile)
	if err != nil {
		t.Logf("the page cannot be inspected: %v", err)
		return
	}
	t.Logf("the page shows %s by %s", inspection.Screen, inspection.Evidence)
	for _, element := range inspection.Elements {
		if element.State != ElementMissing {
			t.Logf("  %s: %s, candidate %d, %q", element.Name, element.State, element.Candidate, element.Text)
		}
	}
	var text, loaded string
	err = page.EvalInPage(ctx, "document.body.innerText", &text)
	t.Logf("its text (%v):\n%s", err, text)
	err = page.EvalInPage(ctx, `[location.href, document.readyState, ...performance.getEntriesByType("resource").map(one => one.responseStatus + " " + one.name)].join("\n")`, &loaded)
	t.Logf("its requests (%v):\n%s", err, loaded)
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
