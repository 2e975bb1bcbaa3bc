package recorder_test

import (
	"encoding/binary"
	"math"
	"sync"
	"testing"
	"time"

	"standin/internal/bot/ingest"
	"standin/internal/bot/recorder"
	"standin/internal/testing/await"
)

// listener wants all live sound and notes when it begins to be loud, by track.
type listener struct {
	mu     sync.Mutex
	frames map[string][]time.Time
	loud   map[string][]time.Time
	heard  chan struct{}
}

func newListener() *listener {
	return &listener{frames: make(map[string][]time.Time), loud: make(map[string][]time.Time), heard: make(chan struct{}, 1)}
}

// Wanted implements recorder.LiveSoundListener.
func (l *listener) Wanted() (ingest.SoundWanted, <-chan struct{}) {
	return ingest.SoundWanted{Mixed: true, Participants: true}, nil
}

// Hear implements recorder.LiveSoundListener.
func (l *listener) Hear(sound []recorder.LiveSound) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, frame := range sound {
		l.frames[frame.TrackID] = append(l.frames[frame.TrackID], frame.At)
		for i := 0; i < len(frame.PCM); i += 2 {
			if value := int16(binary.LittleEndian.Uint16(frame.PCM[i:])); math.Abs(float64(value)) < 3000 {
				continue
			}
			at := frame.At.Add(time.Duration(i/2) * time.Second / ingest.SoundRate)
			if before := l.loud[frame.TrackID]; len(before) == 0 || at.Sub(before[len(before)-1]) > 500*time.Millisecond {
				l.loud[frame.TrackID] = append(before, at)
			}
			break
		}
	}
	select {
	case l.heard <- struct{}{}:
	default:
	}
}

// await waits until a number of sources have been loud several times after from.
func (l *listener) await(t *testing.T, r *recorder.Recorder, sources, times int, from time.Time) {
	t.Helper()
	for {
		l.mu.Lock()
		enough := 0
		for _, loud := range l.loud {
			count := 0
			for _, at := range loud {
				if at.After(from) {
					count++
				}
			}
			if count >= times {
				enough++
			}
		}
		l.mu.Unlock()
		if enough >= sources {
			return
		}
		select {
		case <-l.heard:
		case <-r.Done():
			t.Fatalf("the recording ended: %v", r.Err())
		case <-t.Context().Done():
			t.Fatal("too little sound in time")
		}
	}
}

// Live sound is that of the recording: mixed, and of each participant, also in a frame of
// the page. There is none while the recording is paused.
func TestLiveSound(t *testing.T) {
	t.Parallel()
	heard := newListener()
	ctx, f := prepare(t, "?still&silent")
	page := f.open(t, ctx, participantsPath[1:]+"?framed", recorder.Settings{})
	r, _ := page.record(t, ctx, recorder.Settings{LiveSound: heard})
	heard.await(t, r, 3, 3, time.Time{})
	if _, err := r.Pause(ctx); err != nil {
		t.Fatal(err)
	}
	afterPause := time.Now()
	await.Until(t, "a beep of the page", func() bool { return r.Stats().LastSoundAt.After(afterPause) })
	resumed, err := r.Resume(ctx)
	if err != nil {
		t.Fatal(err)
	}
	heard.await(t, r, 3, 2, resumed)
	if err := r.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	heard.mu.Lock()
	defer heard.mu.Unlock()
	if len(heard.frames) != 3 || len(heard.frames[""]) == 0 {
		t.Fatalf("sound of %d sources, want the mixed sound and two participants", len(heard.frames))
	}
	const ahead = 50 * time.Millisecond // times of participants' frames are those of the output, which is later
	for source, frames := range heard.frames {
		for i, at := range frames {
			if at.After(afterPause.Add(ahead)) && at.Before(resumed) {
				t.Errorf("sound of %q in the pause, %v after its begin and %v before its end", source, at.Sub(afterPause), resumed.Sub(at))
			}
			if step := at.Sub(frames[max(0, i-1)]); i > 0 && step < 15*time.Millisecond {
				t.Errorf("frames of %q overlap: %v", source, step)
			}
		}
	}
}
