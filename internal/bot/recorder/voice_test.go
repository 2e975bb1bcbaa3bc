package recorder_test

import (
	"math"
	"testing"
	"time"

	"standin/internal/bot/recorder"
	"standin/internal/testing/mediacheck"
)

// voiceHz is the frequency of the bot's beeps. The page beeps at another.
const voiceHz = 3000

// voiceBeep returns half a second of PCM that begins with a beep.
func voiceBeep() []byte {
	pcm := make([]byte, 48_000)
	for i := range 4800 {
		sample := int16(10_000 * math.Sin(2*math.Pi*voiceHz*float64(i)/48_000))
		pcm[2*i], pcm[2*i+1] = byte(sample), byte(sample>>8)
	}
	return pcm
}

// TestLateVoice adds sound of the bot that arrives after its time. The recording has it at
// its time, and all of the page's sound, also before a pause.
func TestLateVoice(t *testing.T) {
	t.Parallel()
	ctx, s := prepare(t, "")
	r, sink := s.record(t, ctx, recorder.Settings{Voice: true})
	sink.await(t, ctx, r, time.Second)
	const beeps, length, late = 8, 500 * time.Millisecond, 700 * time.Millisecond
	if err := r.StartBotAudio(ctx); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	for i := range beeps {
		at := begin.Add(time.Duration(i) * length)
		<-time.After(time.Until(at.Add(late)))
		if err := r.MixBotAudio(ctx, voiceBeep(), float64(at.UnixMicro())/1000); err != nil {
			t.Fatal(err)
		}
	}
	paused, err := r.Pause(ctx) // a part of the captured sound waits
	if err != nil {
		t.Fatal(err)
	}
	if err := r.StopBotAudio(ctx, float64(time.Now().UnixMicro())/1000); err != nil {
		t.Fatal(err)
	}
	if err := r.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	file := sink.file(t)
	tones, err := mediacheck.Tones(ctx, file, voiceHz, 1000)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("from %v to %v the bot's beeps are at %.0f, the page's at %.0f ms", begin.Sub(r.StartedAt()), paused.Sub(r.StartedAt()), tones[0],
		tones[1])
	if len(tones[0]) != beeps {
		t.Errorf("%d beeps of the bot are recorded, want %d", len(tones[0]), beeps)
	}
	for i, at := range tones[0] {
		want := begin.Add(time.Duration(i) * length).Sub(r.StartedAt())
		if off := at - float64(want.Milliseconds()); math.Abs(off) > 50 {
			t.Errorf("beep %d is recorded %.0f ms after its time", i, off)
		}
	}
	if seconds := int(paused.Sub(r.StartedAt()).Seconds()); len(tones[1]) < seconds-1 {
		t.Errorf("%d of the page's beeps are recorded in %d s", len(tones[1]), seconds)
	}
}
