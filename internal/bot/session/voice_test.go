package session

import (
	"math"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"standin/internal/bot/output"
	"standin/internal/bot/report"
	"standin/internal/ingest"
	"standin/internal/job"
	"standin/internal/replica"
)

// awaitHeard waits until a number of packets of the bot's sound have arrived at the others.
func (h *harness) awaitHeard(guest string, packets int) {
	h.Helper()
	h.await("the bot's sound", func() bool { return len(h.meeting.Heard(guest)) >= packets })
}

// TestBargeIn measures how long others hear the bot after a command that stops it.
func TestBargeIn(t *testing.T) {
	if testing.Short() {
		t.Skip("make check-long runs it")
	}
	t.Parallel()
	requireTools(t)
	const rounds = 5
	var starts, stops []time.Time
	newHarness(t, startReplica(t), job.Meet, scenario{
		reason: report.ReasonHostEnded, configure: func(s *Settings) { s.Output = true; audioOnly(s) },
		during: func(h *harness) {
			h.admitAndRecord(1)
			h.awaitGuest(1, replica.EventMediaConnected)
			for range rounds {
				starts = append(starts, time.Now())
				sound := h.play(humming(30*time.Second), ingest.SoundArgs{})
				h.awaitOutput(job.BotOutputStarted, sound)
				h.awaitHeard("g1", len(h.meeting.Heard("g1"))+75) // it is heard for a while
				stops = append(stops, time.Now())
				h.command(ingest.StopOutput, nil)
				h.awaitOutput(job.BotOutputFailed, sound)
			}
			h.await("the microphone is off", func() bool { return !h.meeting.Guests()[0].Microphone })
			h.meeting.End()
		},
		check: func(h *harness) {
			heard := h.heardTones("g1")
			var delays []time.Duration
			for i, stop := range stops {
				last := time.Time{}
				for _, at := range heard {
					if i == len(stops)-1 || at.Before(starts[i+1]) {
						last = at
					}
				}
				delays = append(delays, last.Sub(stop).Round(time.Millisecond))
			}
			slices.Sort(delays)
			most := time.Second // the machine may be busy
			if os.Getenv("STANDIN_TEST_QUALITY") == "exact" {
				most = 200 * time.Millisecond
			}
			if h.Logf("others heard the bot for %v after it was to stop", delays); delays[0] < -time.Second || delays[len(delays)-1] > most {
				h.Errorf("want at most %v", most)
			}
		},
	}, &delays{}).run()
}

// humming returns PCM of a tone.
func humming(length time.Duration) []byte {
	var pcm []byte
	for i := range int(length.Milliseconds()) * output.SampleRate / 1000 {
		sample := int16(10_000 * math.Sin(2*math.Pi*outputHz*float64(i)/output.SampleRate))
		pcm = append(pcm, byte(sample), byte(sample>>8))
	}
	return pcm
}

// heardTones returns the times at which the packets arrived at the others in which the
// bot's tone is heard.
func (h *harness) heardTones(guest string) (times []time.Time) {
	h.Helper()
	path, packets := h.heardFile(guest)
	pcm, err := exec.CommandContext(h.Context(), "ffmpeg", "-v", "error", "-i", path, "-ar", "48000", "-ac", "1", "-f", "s16le", "-").Output()
	if err != nil {
		h.Fatalf("decode what was heard: %v", err)
	}
	const window = ingest.SoundFrameBytes
	for at := 0; at+window <= len(pcm); at += window {
		if toneLevel(pcm[at:at+window]) > 3000 {
			times = append(times, arrival(packets, uint32((at+window)/output.BytesPerSample)))
		}
	}
	return times
}
