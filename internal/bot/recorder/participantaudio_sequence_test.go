package recorder_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"standin/internal/bot/recorder"
)

// open counts the tracks that have not ended and have at least so many chunks.
func open(tracks []storedTrack, chunks int) int {
	count := 0
	for _, track := range tracks {
		if !track.ended && track.chunks >= chunks {
			count++
		}
	}
	return count
}

// ended counts the tracks that ended, complete or early.
func ended(tracks []storedTrack) (inOrder, early int) {
	for _, track := range tracks {
		switch {
		case track.ended && track.cause == "":
			inOrder++
		case track.ended:
			early++
		}
	}
	return inOrder, early
}

// Tracks end when a recording pauses, when a participant leaves, and early when the
// page reloads. New tracks start afterwards. Nothing is recorded in a pause.
func TestParticipantTracksFollowPauseLeaveAndReload(t *testing.T) {
	t.Parallel()
	ctx, s := prepare(t, "participants")
	tracks := newTrackSink()
	r, _ := s.record(t, ctx, recorder.Settings{FramesPerSecond: 5, ParticipantAudio: tracks})
	eval := func(script string) {
		t.Helper()
		if err := s.page.EvalInPage(ctx, script, nil); err != nil {
			t.Fatal(err)
		}
	}
	tracks.await(t, ctx, "both", func(all []storedTrack) bool { return open(all, 3) == 2 })

	if _, err := r.Pause(ctx); err != nil {
		t.Fatal(err)
	}
	before := tracks.taken()
	if inOrder, early := ended(before); inOrder != 2 || early != 0 {
		t.Errorf("after the pause began %d tracks have ended in order and %d early", inOrder, early)
	}
	for range 3 { // longer than the poll interval
		select {
		case <-tracks.changed:
		case <-time.After(time.Second):
		}
	}
	if after := tracks.taken(); len(after) != 2 || len(after[0].content) != len(before[0].content) ||
		len(after[1].content) != len(before[1].content) {
		t.Errorf("audio was recorded in the pause: %d tracks", len(after))
	}

	if _, err := r.Resume(ctx); err != nil {
		t.Fatal(err)
	}
	resumed := time.Now()
	all := tracks.await(t, ctx, "both again", func(all []storedTrack) bool { return open(all, 3) == 2 })
	for _, track := range all[2:] {
		if track.StartedAt.Before(resumed.Add(-time.Second)) {
			t.Errorf("a track starts at %s, in the pause that ended at %s", track.StartedAt, resumed)
		}
	}

	eval(`people.ada.leave()`)
	tracks.await(t, ctx, "Ada's end", func(all []storedTrack) bool { inOrder, early := ended(all); return inOrder == 3 && early == 0 })
	eval(`people.ben.sender.replaceTrack(null)`) // muted
	eval(`join("ada", 1000)`)
	tracks.await(t, ctx, "Ada's return", func(all []storedTrack) bool { return len(all) == 5 && open(all, 3) == 2 })

	if address, err := s.page.URL(ctx); err != nil || s.page.Navigate(ctx, address) != nil {
		t.Fatal("cannot reload the page")
	}
	tracks.await(t, ctx, "two early ends and two new ones", func(all []storedTrack) bool {
		_, early := ended(all)
		return early == 2 && len(all) == 7 && open(all, 3) == 2
	})
	if err := r.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	all = tracks.taken()
	if inOrder, early := ended(all); inOrder != 5 || early != 2 {
		t.Errorf("%d tracks have ended in order and %d early, of %d", inOrder, early, len(all))
	}
	for i, track := range all {
		ada, ben := tones(t, ctx, track.content)
		if len(ada) > 0 && len(ben) > 0 || len(ada)+len(ben) == 0 {
			t.Errorf("track %d has beeps of Ada at %.0f and of Ben at %.0f", i, ada, ben)
		}
	}
}

// With a limit of one track, a sink that fails for a while, and a page that hangs
// when the recording pauses, the main recording is complete, and so is the track
// until the pause.
func TestParticipantAudioFailuresDoNotAffectRecording(t *testing.T) {
	t.Parallel()
	ctx, s := prepare(t, "participants")
	tracks := newTrackSink()
	tracks.failing = errors.New("the disk is full")
	r, sink := s.record(t, ctx, recorder.Settings{FramesPerSecond: 5, ParticipantAudio: tracks, MaxParticipantTracks: 1})
	sink.await(t, ctx, r, 4*time.Second)
	tracks.mutex.Lock()
	tracks.failing = nil
	tracks.mutex.Unlock()
	all := tracks.await(t, ctx, "one", func(all []storedTrack) bool { return open(all, 8) == 1 })
	if len(all) != 1 {
		t.Errorf("%d tracks, want 1", len(all))
	}

	const hang = hangTime
	if err := s.page.EvalInPage(ctx, fmt.Sprintf(`setTimeout(() => { const request = new XMLHttpRequest(); request.open("GET", %q, false); request.send(); })`, hangPath), nil); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if _, err := r.Pause(ctx); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > hang {
		t.Errorf("Pause took %s while the page hung", took)
	}
	all = tracks.taken()
	if inOrder, early := ended(all); inOrder != 0 || early != 1 {
		t.Errorf("%d tracks have ended in order and %d early", inOrder, early)
	}
	if _, err := r.Resume(ctx); err != nil {
		t.Fatal(err)
	}
	again := tracks.await(t, ctx, "another", func(all []storedTrack) bool { return open(all, 3) == 1 })
	if len(again) != 2 || len(again[0].content) != len(all[0].content) || again[1].StartedAt.Before(began.Add(hang/2)) {
		t.Errorf("after the pause: %d tracks, the first with %d bytes, not %d", len(again), len(again[0].content), len(all[0].content))
	}
	if err := r.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	if ada, ben := tones(t, ctx, again[0].content); len(ada)+len(ben) < 2 {
		t.Errorf("beeps at %.0f and %.0f in a track that was stored late", ada, ben)
	}
	decode(t, ctx, sink)
}
