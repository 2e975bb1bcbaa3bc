package session

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/pion/webrtc/v4/pkg/media/oggwriter"

	"standin/internal/bot/output"
	"standin/internal/bot/report"
	"standin/internal/ingest"
	"standin/internal/job"
	"standin/internal/replica"
	"standin/internal/testing/mediacheck"
)

// outputHz is the frequency of the beeps that the bot plays. Participants beep at another.
const outputHz = 3000

const (
	outputBeep     = 100 * time.Millisecond
	outputInterval = 500 * time.Millisecond // between the beginnings of two beeps
)

// beeping returns PCM with a beep at the beginning of every interval.
func beeping(count int) []byte {
	var pcm []byte
	for i := range count * int(outputInterval.Milliseconds()) * output.SampleRate / 1000 {
		sample := int16(0)
		if at := time.Duration(i) * time.Second / output.SampleRate; at%outputInterval < outputBeep {
			sample = int16(10_000 * math.Sin(2*math.Pi*outputHz*float64(i)/output.SampleRate))
		}
		pcm = append(pcm, byte(sample), byte(sample>>8))
	}
	return pcm
}

// play sends the bot a sound and returns the ID of the command.
func (h *harness) play(pcm []byte, args ingest.SoundArgs) string {
	h.Helper()
	h.commands++
	id := "sound-" + string(rune('0'+h.commands))
	h.service.Set(func() { h.service.Sounds[id] = pcm })
	h.service.QueueCommand(id, ingest.PlayAudio, args)
	return id
}

// awaitOutput waits for an event of a sound.
func (h *harness) awaitOutput(kind job.Trigger, command string) ingest.EventData {
	h.Helper()
	var found ingest.EventData
	h.await(string(kind)+" of "+command, func() bool {
		return slices.ContainsFunc(h.service.Events, func(event ingest.Event) bool {
			found = ingest.ParseEventData(event.Data)
			return event.Kind == kind && found.CommandID == command
		})
	})
	return found
}

// heardBeeps returns when the bot's beeps arrived at the other participants.
func (h *harness) heardBeeps(guest string) []time.Time {
	h.Helper()
	path := filepath.Join(h.TempDir(), guest+".ogg")
	packets := h.meeting.Heard(guest)
	if len(packets) == 0 {
		h.Fatal("nothing was heard of the bot")
	}
	writer, err := oggwriter.New(path, output.SampleRate, 2)
	for i := 0; err == nil && i < len(packets); i++ {
		err = writer.WriteRTP(packets[i].Packet)
	}
	if err == nil {
		err = writer.Close()
	}
	if err != nil {
		h.Fatal(err)
	}
	onsets, err := mediacheck.Tones(h.Context(), path, outputHz)
	if err != nil {
		h.Fatal(err)
	}
	var times []time.Time
	for _, onset := range onsets[0] {
		const preSkip = 3840 // samples at the beginning of the file that decoders drop
		position := uint32(onset*output.SampleRate/1000) + preSkip
		at := slices.IndexFunc(packets, func(p replica.HeardPacket) bool { return p.Timestamp-packets[0].Timestamp > position })
		times = append(times, packets[max(0, at-1)].At)
	}
	return times
}

// TestOutput plays beeps in a meeting. They arrive at the others, once in the recording at
// the time at which they were sent, and in the bot's own audio. The microphone is on only
// for them.
func TestOutput(t *testing.T) {
	if testing.Short() {
		t.Skip("make check-long runs it")
	}
	t.Parallel()
	requireTools(t)
	server := startReplica(t)
	const beeps = 10
	for _, platform := range []job.Platform{job.Meet, job.Teams, job.ZoomWeb} {
		t.Run(string(platform), func(t *testing.T) {
			t.Parallel()
			s := scenario{
				reason:    report.ReasonHostEnded,
				configure: func(s *Settings) { s.Output = true },
				during: func(h *harness) {
					h.admitAndRecord(1)
					h.awaitGuest(1, replica.EventMediaConnected)
					command := h.play(beeping(beeps), ingest.SoundArgs{})
					h.awaitOutput(job.BotOutputStarted, command)
					h.awaitOutput(job.BotOutputFinished, command)
					h.awaitMeeting("the microphone is off again", func(e replica.Event) bool {
						return e.Kind == replica.EventMicrophone && e.Text == "off" && e.At.After(h.event(job.BotOutputFinished).EmittedAt)
					})
					h.meeting.End()
				},
				check: func(h *harness) {
					speech := h.report.Speech[slices.IndexFunc(h.report.Speech, func(s ingest.Speech) bool { return s.PersonID == report.OwnID })]
					if lasted := speech.To.Sub(speech.From); (lasted - beeps*outputInterval).Abs() > 500*time.Millisecond {
						h.Errorf("the bot spoke for %s", lasted)
					}
					h.checkBeepsAt("heard", h.heardBeeps("g1"), speech.From, beeps, 0, time.Second)
					h.checkBeepsAt("recorded", h.recordedBeeps(h.report.Media[0].Name, h.report.Parts[0].StartedAt), speech.From, beeps, -50*time.Millisecond, 50*time.Millisecond)
					microphone := 0
					for _, e := range h.meeting.Events() {
						if e.Kind == replica.EventMicrophone && e.Text == "on" {
							microphone++
						}
					}
					if microphone > 2 { // before the bot joined, and for the sound
						h.Errorf("the microphone was turned on %d times", microphone)
					}
				},
			}
			newHarness(t, server, platform, s, &delays{}).run()
		})
	}
}

// recordedBeeps returns when the bot's beeps are in an uploaded file.
func (h *harness) recordedBeeps(name string, startedAt time.Time) []time.Time {
	h.Helper()
	content, ok := h.service.Uploaded(name)
	path := filepath.Join(h.TempDir(), name)
	if !ok {
		h.Fatalf("%s was not uploaded", name)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		h.Fatal(err)
	}
	onsets, err := mediacheck.Tones(h.Context(), path, outputHz)
	if err != nil {
		h.Fatal(err)
	}
	var times []time.Time
	for _, onset := range onsets[0] {
		times = append(times, startedAt.Add(milliseconds(onset)))
	}
	return times
}

// checkBeepsAt checks that there are as many beeps as were played, and how late they are.
func (h *harness) checkBeepsAt(what string, got []time.Time, from time.Time, count int, least, most time.Duration) {
	h.Helper()
	if len(got) != count {
		h.Errorf("%s %d beeps, want %d", what, len(got), count)
	}
	var late []time.Duration
	for i, at := range got {
		late = append(late, at.Sub(from.Add(time.Duration(i)*outputInterval)).Round(time.Millisecond))
	}
	h.Logf("%s: late by %v", what, late)
	slices.Sort(late)
	if len(late) > 0 && (late[len(late)/2] < least || late[len(late)/2] > most) {
		h.Errorf("%s: late by %v", what, late)
	}
}
