package recorder_test

import (
	"bytes"
	"math"
	"testing"
	"time"

	"standin/internal/bot/recorder"
	"standin/internal/testing/mediacheck"
)

// An audio-only recording has no video and, in exact checks, is synchronized.
func TestAudioOnly(t *testing.T) {
	t.Parallel()
	ctx, s := prepare(t, "")
	r, sink := s.record(t, ctx, recorder.Settings{AudioOnly: true})
	sink.await(t, ctx, r, 3*time.Second)
	if _, err := r.Pause(ctx); err != nil {
		t.Fatal(err)
	}
	paused := time.Since(r.StartedAt())
	if _, err := r.Resume(ctx); err != nil {
		t.Fatal(err)
	}
	sink.await(t, ctx, r, 6*time.Second)
	// The time at which the page's audio clock was 0.
	var zero float64
	if err := s.page.Eval(ctx, "performance.timeOrigin + performance.now() - sound.currentTime * 1000", &zero); err != nil {
		t.Fatal(err)
	}
	if err := r.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	if stats := r.Stats(); stats.Width != 0 || stats.LastSoundAt.IsZero() {
		t.Errorf("stats %+v", stats)
	}
	report, err := mediacheck.Decode(ctx, sink.file(t))
	if err != nil {
		t.Fatal(err)
	}
	if report.VideoCodec != "" || report.AudioCodec != "opus" || len(report.BeepsMs) < 3 {
		t.Fatalf("recorded %+v", report)
	}
	for _, beep := range report.BeepsMs {
		if beep > paused.Seconds()*1000 {
			break
		}
		at := float64(r.StartedAt().UnixMicro())/1000 + beep - zero
		off := at - math.Round(at/1000)*1000
		t.Logf("a beep at %.0f ms is %+.0f ms from its second", beep, off)
		if exact() && beep > 150 && math.Abs(off) > 150 { // the recording may start within the first beep
			t.Errorf("a beep at %.0f ms is %.0f ms from its second", beep, off)
		}
	}
	if content := bytes.Join(chunks(sink), nil); len(content) == 0 {
		t.Error("no chunks")
	}
}
