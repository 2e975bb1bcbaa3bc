package session

import (
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"standin/internal/bot/report"
	"standin/internal/ingest"
	"standin/internal/job"
	"standin/internal/launch"
	"standin/internal/recording/build"
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
	for i := range count * int(outputInterval.Milliseconds()) * ingest.SoundRate / 1000 {
		sample := int16(0)
		if at := time.Duration(i) * time.Second / ingest.SoundRate; at%outputInterval < outputBeep {
			sample = int16(10_000 * math.Sin(2*math.Pi*outputHz*float64(i)/ingest.SoundRate))
		}
		pcm = append(pcm, byte(sample), byte(sample>>8))
	}
	return pcm
}

// play sends the bot a sound and returns the ID of the command.
func (h *harness) play(pcm []byte, args ingest.SoundArgs) string {
	h.Helper()
	h.commands++
	id := fmt.Sprintf("sound-%d", h.commands)
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

// heardFile writes what arrived of the bot at the other participants to a file.
func (h *harness) heardFile(guest string) (path string, packets []replica.Packet) {
	h.Helper()
	path = filepath.Join(h.TempDir(), guest+".ogg")
	packets = h.meeting.Heard(guest)
	if len(packets) == 0 {
		h.Fatal("nothing was heard of the bot")
	}
	if err := replica.WriteOgg(path, packets); err != nil {
		h.Fatal(err)
	}
	return path, packets
}

// arrival returns when the packet with a sample of heardFile arrived.
func arrival(packets []replica.Packet, sample uint32) time.Time {
	const preSkip = 3840 // samples at the beginning of the file that decoders drop
	at := slices.IndexFunc(packets, func(p replica.Packet) bool { return p.Timestamp-packets[0].Timestamp > sample+preSkip })
	if at < 0 {
		at = len(packets)
	}
	return packets[max(0, at-1)].At
}

// heardBeeps returns when the bot's beeps arrived at the other participants.
func (h *harness) heardBeeps(guest string) (times []time.Time) {
	h.Helper()
	path, packets := h.heardFile(guest)
	onsets, err := mediacheck.Tones(h.Context(), path, outputHz)
	if err != nil {
		h.Fatal(err)
	}
	for _, onset := range onsets[0] {
		times = append(times, arrival(packets, uint32(onset*ingest.SoundRate/1000)))
	}
	return times
}

// TestOutput plays beeps in a meeting. They arrive at the others, once in the recording at
// the time at which they were sent, and in the bot's own audio. The microphone is on only
// for them. STANDIN_TEST_SECONDS makes it longer.
func TestOutput(t *testing.T) {
	if testing.Short() {
		t.Skip("make check-long runs it")
	}
	t.Parallel()
	requireTools(t)
	server := startReplica(t)
	beeps := 10
	if longer := testLength(); longer > 0 {
		beeps = int(longer / outputInterval)
	}
	for _, platform := range []job.Platform{job.Meet, job.Teams, job.ZoomWeb} {
		t.Run(string(platform), func(t *testing.T) {
			t.Parallel()
			s := scenario{
				reason: report.ReasonHostEnded,
				configure: func(s *Settings) {
					s.Recording.Output = true
					if platform == job.Meet {
						s.Recording.ParticipantAudio = launch.ParticipantAudioOn
					}
				},
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
					if lasted := speech.To.Sub(speech.From); (lasted - time.Duration(beeps)*outputInterval).Abs() > 500*time.Millisecond {
						h.Errorf("the bot spoke for %s", lasted)
					}
					h.checkBeepsAt("heard", h.heardBeeps("g1"), speech.From, beeps, -50*time.Millisecond, time.Second)
					h.checkBeepsAt("recorded", h.recordedBeeps(h.report.Media[0].Name, h.report.Parts[0].StartedAt), speech.From, beeps, -50*time.Millisecond, 50*time.Millisecond)
					if h.settings.Recording.ParticipantAudio == launch.ParticipantAudioOn {
						h.checkOwnTrack(speech.From, beeps)
					}
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

// checkOwnTrack checks the file of the bot's own voice.
func (h *harness) checkOwnTrack(from time.Time, beeps int) {
	h.Helper()
	own := tracksOf(h.report, h.settings.DisplayName)
	if len(own) != 1 || !own[0].Complete {
		h.Fatalf("own tracks %+v of %+v", own, h.report.AudioTracks)
	}
	at := slices.IndexFunc(h.report.PackedTracks, func(p build.PackedTrack) bool { return p.Number == own[0].Number })
	if at < 0 {
		h.Fatalf("the own track was not packed: %+v", h.report.PackedTracks)
	}
	file := h.recordedBeeps(h.report.PackedTracks[at].File, own[0].StartedAt)
	if len(file) != beeps || file[0].Sub(from).Abs() > 150*time.Millisecond {
		h.Errorf("%d beeps are in the own track, the first at %v; want %d from %v on", len(file), file, beeps, from)
	}
	h.Logf("own track begins %s after the sound, and has %d beeps", own[0].StartedAt.Sub(from), len(file))
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
	if len(late) > 0 {
		h.Logf("%s: late by p50 %v, p95 %v", what, late[len(late)/2], late[len(late)*95/100])
	}
	if len(late) > 0 && (late[len(late)/2] < least || late[len(late)/2] > most) {
		h.Errorf("%s: late by %v", what, late)
	}
}

// TestOutputEnds checks that a sound ends at once when a command stops it or the host
// mutes the bot, and that its outcome says why. Sound that a receiver of streams sends is
// played.
func TestOutputEnds(t *testing.T) {
	if testing.Short() {
		t.Skip("make check-long runs it")
	}
	t.Parallel()
	requireTools(t)
	receivers := make(chan *websocket.Conn, 10)
	s := scenario{
		reason:    report.ReasonHostEnded,
		configure: func(s *Settings) { s.Recording.Output = true; audioOnly(s) },
		during: func(h *harness) {
			h.admitAndRecord(1)
			h.awaitGuest(1, replica.EventMediaConnected)
			const long = 60 // beeps, half a minute
			stopped := h.play(beeping(long), ingest.SoundArgs{})
			waiting := h.play(beeping(1), ingest.SoundArgs{})
			h.awaitOutput(job.BotOutputStarted, stopped)
			at := time.Now()
			h.command(ingest.StopOutput, nil)
			for _, one := range []string{stopped, waiting} {
				if end := h.awaitOutput(job.BotOutputFailed, one); end.Reason != string(ingest.Interrupted) {
					h.Errorf("a stopped sound ended with %+v", end)
				}
			}
			h.Logf("stopped after %s", time.Since(at))
			replaced := h.play(beeping(long), ingest.SoundArgs{})
			h.awaitOutput(job.BotOutputStarted, replaced)
			muted := h.play(beeping(long), ingest.SoundArgs{Interrupt: true})
			if end := h.awaitOutput(job.BotOutputFailed, replaced); end.Reason != string(ingest.Interrupted) {
				h.Errorf("a replaced sound ended with %+v", end)
			}
			h.awaitOutput(job.BotOutputStarted, muted)
			h.meeting.MuteGuests()
			if end := h.awaitOutput(job.BotOutputFailed, muted); end.Reason != string(ingest.StoppedByHost) {
				h.Errorf("a muted sound ended with %+v", end)
			}
			again := h.play(beeping(1), ingest.SoundArgs{})
			h.awaitOutput(job.BotOutputFinished, again)

			before := len(h.meeting.Heard("g1"))
			conn := <-receivers
			for chunk := range slices.Chunk(beeping(6), 2*ingest.SoundFrameBytes) {
				if err := conn.Write(h.running, websocket.MessageBinary, chunk); err != nil {
					h.Fatal(err)
				}
			}
			h.await("the microphone is off again", func() bool {
				guest := h.meeting.Guests()[0]
				return !guest.Microphone && len(h.meeting.Heard("g1")) > before+100
			})
			h.meeting.End()
		},
		check: func(h *harness) {
			if heard := h.heardBeeps("g1"); len(heard) < 7 {
				h.Errorf("%d beeps were heard", len(heard))
			}
		},
	}
	h := newHarness(t, startReplica(t), job.Meet, s, &delays{})
	h.service.Set(func() {
		h.service.Intercept = func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.HasPrefix(r.URL.Path, ingest.SoundPath) {
				return false
			}
			conn, err := websocket.Accept(w, r, nil)
			if err != nil {
				return true
			}
			receivers <- conn
			for err == nil {
				_, _, err = conn.Read(r.Context())
			}
			return true
		}
	})
	h.run()
}
