package session

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"standin/internal/bot/ingest"
	"standin/internal/bot/report"
	"standin/internal/jobs/job"
	"standin/internal/replica"
)

// agentPage is a page that answers each beep of a participant that its microphone hears with
// a beep of its own, and reports the beep with the level, in dB, at which it heard itself.
const agentPage = `<!doctype html><body style="background: rgb(0, 160, 0)"><script>
	(async () => {
		const stream = await navigator.mediaDevices.getUserMedia({audio: true});
		const context = new AudioContext(), analyser = new AnalyserNode(context, {fftSize: 1024, smoothingTimeConstant: 0});
		context.createMediaStreamSource(stream).connect(analyser);
		const levels = new Float32Array(analyser.frequencyBinCount);
		const level = hz => Math.max(-200, levels[Math.round(hz * analyser.fftSize / context.sampleRate)]);
		let heardAt = 0, own = -200;
		setInterval(() => {
			analyser.getFloatFrequencyData(levels);
			own = Math.max(own, level(3000));
			if (level(1000) < -30 || performance.now() - heardAt < 600) return;
			heardAt = performance.now();
			fetch("/heard?own=" + own);
			const beep = new OscillatorNode(context, {frequency: 3000}), volume = new GainNode(context, {gain: 0.3});
			beep.connect(volume).connect(context.destination);
			beep.start(context.currentTime + 0.3);
			beep.stop(context.currentTime + 0.4);
		}, 10);
	})();
</script>`

// agent serves agentPage and counts what it heard.
type agent struct {
	*httptest.Server
	mu    sync.Mutex
	heard int
	own   float64 // dB; the loudest
	beep  chan struct{}
}

func newAgent(t *testing.T) *agent {
	t.Helper()
	a := &agent{own: -200, beep: make(chan struct{}, 1)}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
			w.Header().Set("Content-Type", "text/html")
			_, _ = w.Write([]byte(agentPage))
		case "/heard":
			own, err := strconv.ParseFloat(r.FormValue("own"), 64)
			if err != nil {
				t.Error(err)
			}
			a.mu.Lock()
			defer a.mu.Unlock()
			a.heard, a.own = a.heard+1, max(a.own, own)
			select {
			case a.beep <- struct{}{}:
			default:
			}
		}
	}))
	t.Cleanup(a.Close)
	return a
}

// await waits until the page has heard a number of beeps more.
func (a *agent) await(h *harness, more int) {
	h.Helper()
	for wanted := a.count() + more; a.count() < wanted; {
		select {
		case <-a.beep:
		case <-h.running.Done():
			h.Fatalf("the page heard %d beeps, want %d", a.count(), wanted)
		}
	}
}

func (a *agent) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.heard
}

// TestPageHearsAndSpeaks shows a page that answers what it hears. It hears the meeting as its
// microphone, but neither itself nor what is not recorded. The others hear its answers, and
// the recording contains them once.
func TestPageHearsAndSpeaks(t *testing.T) {
	t.Parallel()
	for _, platform := range platforms() {
		t.Run(string(platform), func(t *testing.T) { pageHearsAndSpeaks(t, platform) })
	}
}

func pageHearsAndSpeaks(t *testing.T, platform job.Platform) {
	t.Helper()
	page := newAgent(t)
	answers := 0
	visit(t, platform, scenario{
		reason: report.ReasonHostEnded,
		configure: func(s *Settings) {
			speaking(s)
			s.AllowedHosts = append(s.AllowedHosts, strings.TrimPrefix(page.URL, "http://"))
		},
		during: func(h *harness) {
			h.admitAndRecord(1)
			h.awaitGuest(1, replica.EventMediaConnected)
			shown := h.show(ingest.SetCamera, ingest.PictureArgs{Show: ingest.ShowPage, URI: page.URL})
			h.awaitOutput(job.BotOutputStarted, shown)
			h.awaitColor("a page", h.meeting.Seen, "g1", shownGreen)
			page.await(h, 4)
			h.command(ingest.PauseRecording, nil)
			h.event(job.BotRecordingPaused)
			before := page.count()
			<-time.After(2500 * time.Millisecond)        // of beeps
			if more := page.count() - before; more > 1 { // one may have been on the way
				h.Errorf("the page heard %d beeps while the recording was paused", more)
			}
			h.command(ingest.ResumeRecording, nil)
			h.nthEvent(job.BotRecordingStarted, 2)
			page.await(h, 3)
			h.show(ingest.SetCamera, ingest.PictureArgs{Show: ingest.ShowNone})
			h.awaitOutput(job.BotOutputFinished, shown)
			answers = page.count()
			page.Close()
			h.await("the microphone is off again", func() bool { return !h.meeting.Guests()[0].Microphone })
			h.meeting.End()
		},
		check: func(h *harness) {
			heard, recorded := h.heardBeeps("g1"), h.recordedBeeps(h.report.Media[0].Name, h.report.Parts[0].StartedAt)
			paused, resumed := h.event(job.BotRecordingPaused).EmittedAt, h.nthEvent(job.BotRecordingStarted, 2).EmittedAt
			inPause := 0 // answers may have been given then, and arrived a little later
			for _, at := range heard {
				if at.After(paused) && at.Before(resumed.Add(500*time.Millisecond)) {
					inPause++
				}
			}
			h.Logf("of %d answers others heard %d, %d of them in the pause, and %d were recorded; the page heard itself at %.0f dB", answers,
				len(heard), inPause, len(recorded), page.own)
			// The last answer may be cut off.
			if len(heard) < answers-1 || len(heard) > answers || len(recorded) > len(heard) || len(recorded) < len(heard)-inPause {
				h.Error("others heard, or the recording has, another number of answers")
			}
			if page.own > -45 { // gaps of a busy machine have all frequencies
				h.Errorf("the page heard itself at %.0f dB", page.own)
			}
		},
	})
}
