package recorder_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"standin/internal/bot/recorder"
)

// callPath is where the server of prepare has callPage.
const callPath = "/call"

// callPage calls itself over the loopback interface, in a frame of its own when
// it is asked to.
const callPage = `<!doctype html><meta charset=utf-8><title>Call</title><script>
if (location.search === "?framed") document.write('<iframe src="/call"></iframe>');
else (async () => {
	const caller = new RTCPeerConnection(), called = new RTCPeerConnection();
	window.hangUp = () => { caller.close(); called.close(); };
	caller.onicecandidate = e => called.addIceCandidate(e.candidate);
	called.onicecandidate = e => caller.addIceCandidate(e.candidate);
	caller.createDataChannel("call");
	await caller.setLocalDescription();
	await called.setRemoteDescription(caller.localDescription);
	await called.setLocalDescription();
	await caller.setRemoteDescription(called.localDescription);
})();
</script>`

// TestConnected follows a call until it is hung up, in the page and in a frame
// of it.
func TestConnected(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ query, hangUp string }{
		"in the page": {"", "hangUp()"},
		"in a frame":  {"?framed", "frames[0].hangUp()"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, s := prepare(t, strings.TrimPrefix(callPath, "/")+test.query)
			becomes := func(want bool) {
				t.Helper()
				await(t, ctx, "the page's call to be on or off", func() bool {
					connected, err := recorder.Connected(ctx, s.page)
					if err != nil {
						t.Fatal(err)
					}
					return connected == want
				})
			}
			becomes(true)
			if err := s.page.Eval(ctx, test.hangUp, nil); err != nil {
				t.Fatal(err)
			}
			becomes(false)
		})
	}
}

// TestListen hears the page's beeps without recording anything, and again after
// an end.
func TestListen(t *testing.T) {
	t.Parallel()
	ctx, s := prepare(t, "")
	for range 2 {
		listener, err := recorder.MonitorSound(ctx, s.browser, s.page, recorder.Settings{})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		await(t, ctx, "a beep", func() bool { return listener.Stats().LastSoundAt.After(began) })
		if stats := listener.Stats(); stats.Chunks != 0 || stats.LastReportAt.Before(began) {
			t.Errorf("while listening: %+v", stats)
		}
		listener.Close()
		<-listener.Done()
	}
	r, sink := s.record(t, ctx, recorder.Settings{})
	sink.await(t, ctx, r, time.Second)
	if err := r.Stop(ctx); err != nil {
		t.Errorf("recording after it was listened to: %v", err)
	}
}

// await looks until the condition holds.
func await(t *testing.T, ctx context.Context, what string, holds func() bool) {
	t.Helper()
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for !holds() {
		select {
		case <-again.C:
		case <-ctx.Done():
			t.Fatalf("waited in vain for %s", what)
		}
	}
}
