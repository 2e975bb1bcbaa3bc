package recorder_test

import (
	"strings"
	"testing"
	"time"

	"standin/internal/bot/recorder"
	"standin/internal/testing/await"
)

// callPath is the path of callPage.
const callPath = "/call"

// callPage connects two peer connections, with ?framed in a frame.
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

// Connected reports whether a call in the page or in a frame is connected.
func TestConnected(t *testing.T) {
	t.Parallel()
	ctx, s := prepare(t, strings.TrimPrefix(callPath, "/"))
	for _, test := range []struct{ name, query, hangUp string }{
		{"in the page", "", "hangUp()"},
		{"in a frame", "?framed", "frames[0].hangUp()"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if err := s.page.Navigate(ctx, s.address+callPath+test.query); err != nil {
				t.Fatal(err)
			}
			waitFor := func(want bool) {
				t.Helper()
				await.Until(t, "the state of the call", func() bool {
					connected, err := recorder.Connected(ctx, s.page)
					if err != nil {
						t.Fatal(err)
					}
					return connected == want
				})
			}
			waitFor(true)
			if err := s.page.EvalInPage(ctx, test.hangUp, nil); err != nil {
				t.Fatal(err)
			}
			waitFor(false)
		})
	}
}

// A sound monitor detects sound without recording, repeatedly.
func TestMonitorSound(t *testing.T) {
	t.Parallel()
	ctx, s := prepare(t, "")
	for range 2 {
		monitor, err := recorder.MonitorSound(ctx, s.browser, s.page, small(recorder.Settings{}))
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		await.Until(t, "a beep", func() bool { return monitor.Stats().LastSoundAt.After(began) })
		if stats := monitor.Stats(); stats.Chunks != 0 || stats.LastReportAt.Before(began) {
			t.Errorf("stats: %+v", stats)
		}
		monitor.Close()
		<-monitor.Done()
	}
	r, sink := s.record(t, ctx, recorder.Settings{})
	sink.await(t, ctx, r, time.Second)
	if err := r.Stop(ctx); err != nil {
		t.Errorf("stop recording after monitoring: %v", err)
	}
}
