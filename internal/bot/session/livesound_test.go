package session

import (
	"context"
	"encoding/binary"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"standin/internal/bot/ingest"
	"standin/internal/bot/report"
	"standin/internal/recording/build"
	"standin/internal/recording/sound"
	"standin/internal/replica"
)

// TestLiveSound: the beeps of a participant reach a listener of the service, in the mixed
// sound and under the name of the participant, at their times in the recording, before and
// after a reload of the page. STANDIN_TEST_SECONDS makes it longer.
func TestLiveSound(t *testing.T) {
	t.Parallel()
	for _, platform := range platforms() {
		t.Run(string(platform), func(t *testing.T) {
			var heard *hearing
			visit(t, platform, scenario{
				reason: report.ReasonHostEnded, prepare: func(h *harness) { heard = newHearing(h) },
				during: func(h *harness) { heard.follow(h) }, check: func(h *harness) { heard.check(h) },
			})
		})
	}
}

// hearing listens to the sound of a bot.
type hearing struct {
	hub    *sound.Hub
	job    uuid.UUID
	length time.Duration
	onsets map[string][]time.Duration // of beeps in the manifest's time, by participant; "" for the mixed sound
	delays []time.Duration            // from the participant to the listener, of the mixed sound
	heard  map[int64]bool             // seconds of the recording with mixed sound
	frames int
}

// newHearing makes the harness's service accept the bot's sound.
func newHearing(h *harness) *hearing {
	e := &hearing{
		hub: sound.NewHub(), job: uuid.MustParse(testJob), length: 5 * time.Second, onsets: make(map[string][]time.Duration),
		heard: make(map[int64]bool),
	}
	if longer := testLength(); longer > 0 {
		e.length = longer
	}
	h.service.Set(func() {
		h.service.Intercept = func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.HasPrefix(r.URL.Path, ingest.SoundPath) {
				return false
			}
			conn, err := websocket.Accept(w, r, nil)
			if err != nil {
				return true
			}
			same := func(_ context.Context, startedAt time.Time) (time.Time, error) { return startedAt, nil }
			_ = e.hub.ServeBot(context.WithoutCancel(r.Context()), conn, e.job, sound.Callbacks{
				Origin: same, Connected: func(context.Context, time.Duration) {},
			})
			return true
		}
	})
	return e
}

// follow listens to the meeting for some time, and after the page was reloaded.
func (e *hearing) follow(h *harness) {
	subscription := e.hub.Subscribe(e.job, sound.Wanted{Mixed: true, Participants: true})
	defer subscription.Close()
	h.admitAndRecord(1)
	e.listen(h, subscription, e.length)
	h.meeting.Reload()
	h.admitAndRecord(2)
	e.listen(h, subscription, 5*time.Second)
	h.meeting.End()
}

// listen listens for some time.
func (e *hearing) listen(h *harness, subscription *sound.Subscription, length time.Duration) {
	ctx, cancel := context.WithTimeout(h.Context(), length)
	defer cancel()
	for first := true; ; first = false {
		frame, gap, err := subscription.Next(ctx)
		if err != nil {
			return
		}
		if gap != nil && !first { // nobody read before
			h.Errorf("the listener lost %+v", *gap)
		}
		e.frames++
		name := ""
		if frame.Source != 0 {
			if frame.Participant == nil {
				continue // its owner is not known yet
			}
			name = frame.Participant.Name
		} else {
			e.heard[int64(frame.Start/time.Second)] = true
		}
		for i := 0; i < len(frame.PCM); i += 2 {
			const loud = 7000 // louder than speech
			if value := int16(binary.LittleEndian.Uint16(frame.PCM[i:])); value < loud && value > -loud {
				continue
			}
			at := frame.Start + time.Duration(i/2)*time.Second/sound.Rate
			before := e.onsets[name]
			if len(before) == 0 || at-before[len(before)-1] > 500*time.Millisecond {
				e.onsets[name] = append(before, at)
				if name == "" {
					e.delays = append(e.delays, h.meeting.Position()%time.Second)
				}
			}
			break
		}
	}
}

// check compares the beeps with those of the recording.
func (e *hearing) check(h *harness) {
	slices.Sort(e.delays)
	h.Logf("%d frames; beeps heard: %d mixed, %d of Ada, %d of Ben", e.frames, len(e.onsets[""]), len(e.onsets[ada]), len(e.onsets[ben]))
	if len(e.onsets[""]) < 6 || len(e.onsets[ada]) < 4 || len(e.onsets[ben]) > 0 {
		h.Fatal("too few beeps, or beeps of the wrong participant")
	}
	h.Logf("from the participant to the listener: p50 %v, p95 %v, most %v", e.delays[len(e.delays)/2], e.delays[len(e.delays)*95/100],
		e.delays[len(e.delays)-1])
	first := h.report.Parts[0]
	file := h.report.PackedParts[slices.IndexFunc(h.report.PackedParts, func(p build.ReportedPart) bool { return p.Number == 0 })].File
	var differences []time.Duration
	for _, beep := range h.beeps(file) {
		at := milliseconds(beep)
		if at > e.length-time.Second {
			break // the reload follows
		}
		nearest := time.Hour
		for _, other := range e.onsets[""] {
			if d := other - at; d.Abs() < nearest.Abs() {
				nearest = d
			}
		}
		differences = append(differences, nearest)
	}
	h.Logf("part %+v in %s: the live sound is later than the recording by %v to %v, at first by %v, at last by %v",
		first, file, slices.Min(differences), slices.Max(differences), differences[0], differences[len(differences)-1])
	if testLength() == 0 {
		return
	}
	missing := 0
	for second := range int64(e.length / time.Second) {
		if second > 0 && !e.heard[second] {
			missing++
		}
	}
	drift := differences[len(differences)-1] - differences[0]
	if p95 := e.delays[len(e.delays)*95/100]; missing > 0 || drift.Abs() > 50*time.Millisecond || p95 > 300*time.Millisecond {
		h.Errorf("%d seconds are missing, drift %v, p95 %v", missing, drift, p95)
	}
}

// TestStreamSpeech: what a receiver of a stream says arrives at the others and once in the
// recording, and does not come back to the receiver.
func TestStreamSpeech(t *testing.T) {
	t.Parallel()
	const beeps = 8
	var heard *hearing
	loudest := 0.0     // at outputHz in the mixed sound
	var sent time.Time // the first beep
	s := scenario{
		reason: report.ReasonHostEnded, configure: speaking, prepare: func(h *harness) { heard, loudest = newHearing(h), 0 },
		during: func(h *harness) {
			subscription := heard.hub.Subscribe(heard.job, sound.Wanted{Mixed: true})
			defer subscription.Close()
			h.admitAndRecord(1)
			h.awaitGuest(1, replica.EventMediaConnected)
			heard.listen(h, subscription, 2*time.Second) // the bot is connected
			listening, stop := context.WithCancel(h.Context())
			var listener sync.WaitGroup
			listener.Go(func() {
				for {
					frame, _, err := subscription.Next(listening)
					if err != nil {
						return
					}
					loudest = max(loudest, toneLevel(frame.PCM))
					heard.frames++
				}
			})
			const piece = ingest.SoundFrameBytes
			pace := time.NewTicker(ingest.SoundFrameDuration) // in real time, as an agent does
			defer pace.Stop()
			sent = time.Now()
			for pcm := beeping(beeps); len(pcm) > 0; pcm = pcm[piece:] {
				if !subscription.Play(pcm[:piece]) {
					h.Error("the bot is not connected")
				}
				<-pace.C
			}
			h.awaitMeeting("the microphone is off again", func(e replica.Event) bool {
				return e.Kind == replica.EventMicrophone && e.Text == "off" && e.At.After(sent)
			})
			stop()
			listener.Wait()
			h.meeting.End()
		},
		check: func(h *harness) {
			speech := h.ownSpeech()[0]
			heardAt := h.heardBeeps("g1")
			h.checkBeepsAt("heard", heardAt, speech.From, beeps, -50*time.Millisecond, 1500*time.Millisecond)
			h.checkBeepsAt("heard, since it was sent", heardAt, sent, beeps, 0, 5*time.Second) // the microphone was off
			recorded := h.recordedBeeps(h.report.Media[0].Name, h.report.Parts[0].StartedAt)
			if len(recorded) != beeps {
				h.Errorf("%d beeps are recorded, want %d", len(recorded), beeps)
			}
			if h.Logf("the bot's tone in %d frames of the stream: %.0f", heard.frames, loudest); loudest > 500 || heard.frames < 200 {
				h.Errorf("the bot's own sound is in the stream: %.0f", loudest)
			}
		},
	}
	for _, platform := range platforms() {
		t.Run(string(platform), func(t *testing.T) { newHarness(t, platform, s).run() })
	}
}

// toneLevel returns the amplitude of the tone that the bot plays in samples.
func toneLevel(pcm []byte) float64 {
	var real, imaginary float64
	for i := 0; i < len(pcm); i += 2 {
		value, phase := float64(int16(binary.LittleEndian.Uint16(pcm[i:]))), 2*math.Pi*outputHz*float64(i/2)/sound.Rate
		real += value * math.Cos(phase)
		imaginary += value * math.Sin(phase)
	}
	return 4 * math.Hypot(real, imaginary) / float64(len(pcm))
}
