package recorder_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"standin/internal/bot/recorder"
)

// open counts the voices that have not ended and have brought so many chunks.
func open(voices []heard, chunks int) int {
	count := 0
	for _, voice := range voices {
		if !voice.ended && voice.chunks >= chunks {
			count++
		}
	}
	return count
}

// ended counts the voices that have ended, in order or before their time.
func ended(voices []heard) (inOrder, early int) {
	for _, voice := range voices {
		switch {
		case voice.ended && voice.cause == "":
			inOrder++
		case voice.ended:
			early++
		}
	}
	return inOrder, early
}

// TestVoicesComeAndGo: nothing that is said in a pause is recorded; who leaves
// ends, who comes begins, and a page that loads again ends all, which is told.
func TestVoicesComeAndGo(t *testing.T) {
	t.Parallel()
	ctx, s := prepare(t, "choir")
	voices := newVoiceSink()
	r, _ := s.record(t, ctx, recorder.Settings{FramesPerSecond: 5, ParticipantAudio: voices})
	eval := func(script string) {
		t.Helper()
		if err := s.page.Eval(ctx, script, nil); err != nil {
			t.Fatal(err)
		}
	}
	voices.await(t, ctx, "both", func(all []heard) bool { return open(all, 3) == 2 })

	if _, err := r.Pause(ctx); err != nil {
		t.Fatal(err)
	}
	before := voices.taken()
	if inOrder, early := ended(before); inOrder != 2 || early != 0 {
		t.Errorf("after the pause began %d voices have ended in order and %d early", inOrder, early)
	}
	for range 3 { // so much is said, three times as long as anything takes to come
		select {
		case <-voices.changed:
		case <-time.After(time.Second):
		}
	}
	if after := voices.taken(); len(after) != 2 || len(after[0].content) != len(before[0].content) || len(after[1].content) != len(before[1].content) {
		t.Errorf("in the pause something was recorded: %d voices", len(after))
	}

	if _, err := r.Resume(ctx); err != nil {
		t.Fatal(err)
	}
	resumed := time.Now()
	all := voices.await(t, ctx, "both again", func(all []heard) bool { return open(all, 3) == 2 })
	for _, voice := range all[2:] {
		if voice.StartedAt.Before(resumed.Add(-time.Second)) {
			t.Errorf("a voice begins at %s, in the pause that ended at %s", voice.StartedAt, resumed)
		}
	}

	eval(`people.ada.leave()`)
	voices.await(t, ctx, "Ada's end", func(all []heard) bool { inOrder, early := ended(all); return inOrder == 3 && early == 0 })
	eval(`people.ben.sender.replaceTrack(null)`) // muted: Ben is still there, and silent
	eval(`join("ada", 1000)`)
	voices.await(t, ctx, "Ada's return", func(all []heard) bool { return len(all) == 5 && open(all, 3) == 2 })

	if err := s.page.Reload(ctx); err != nil {
		t.Fatal(err)
	}
	voices.await(t, ctx, "two early ends and two new ones", func(all []heard) bool {
		_, early := ended(all)
		return early == 2 && len(all) == 7 && open(all, 3) == 2
	})
	if err := r.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	all = voices.taken()
	if inOrder, early := ended(all); inOrder != 5 || early != 2 {
		t.Errorf("%d voices have ended in order and %d early, of %d", inOrder, early, len(all))
	}
	for i, voice := range all {
		ada, ben := tones(t, ctx, voice.content)
		if len(ada) > 0 && len(ben) > 0 || len(ada)+len(ben) == 0 {
			t.Errorf("voice %d has beeps of Ada at %.0f and of Ben at %.0f", i, ada, ben)
		}
	}
}

// TestVoicesHarmNothing: with room for one only, with a sink that takes nothing
// for a while, and with a page that hangs as the recording pauses, the recording
// itself is whole, and so is the voice until then; what it said in the pause is
// not had.
func TestVoicesHarmNothing(t *testing.T) {
	t.Parallel()
	ctx, s := prepare(t, "choir")
	voices := newVoiceSink()
	voices.failing = errors.New("the disk is full")
	r, sink := s.record(t, ctx, recorder.Settings{FramesPerSecond: 5, ParticipantAudio: voices, MaxParticipantTracks: 1})
	sink.await(t, ctx, r, 4*time.Second)
	voices.mutex.Lock()
	voices.failing = nil
	voices.mutex.Unlock()
	all := voices.await(t, ctx, "one", func(all []heard) bool { return open(all, 8) == 1 })
	if len(all) != 1 {
		t.Errorf("%d voices where there is room for one", len(all))
	}

	const hang = 8 * time.Second // longer than the page is waited for
	if err := s.page.Eval(ctx, fmt.Sprintf(`setTimeout(() => { for (const until = Date.now() + %d; Date.now() < until;); })`, hang.Milliseconds()), nil); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if _, err := r.Pause(ctx); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > hang {
		t.Errorf("a page that hangs holds the pause up for %s", took)
	}
	all = voices.taken()
	if inOrder, early := ended(all); inOrder != 0 || early != 1 {
		t.Errorf("%d voices have ended in order and %d early", inOrder, early)
	}
	if _, err := r.Resume(ctx); err != nil {
		t.Fatal(err)
	}
	again := voices.await(t, ctx, "another", func(all []heard) bool { return open(all, 3) == 1 })
	if len(again) != 2 || len(again[0].content) != len(all[0].content) || again[1].StartedAt.Before(began.Add(hang/2)) {
		t.Errorf("after the pause: %d voices, the first with %d bytes, not %d", len(again), len(again[0].content), len(all[0].content))
	}
	if err := r.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	if ada, ben := tones(t, ctx, again[0].content); len(ada)+len(ben) < 4 {
		t.Errorf("beeps at %.0f and %.0f in a voice that waited", ada, ben)
	}
	decode(t, ctx, sink)
}
