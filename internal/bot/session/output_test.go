package session

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"standin/internal/bot/ingest"
	"standin/internal/bot/report"
	"standin/internal/jobs/job"
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
func beeping(count int) []byte { return tone(time.Duration(count)*outputInterval, outputBeep) }

// tone returns PCM with a tone at the beginning of every interval.
func tone(length, on time.Duration) []byte {
	var pcm []byte
	for i := range int(length.Milliseconds()) * ingest.SoundRate / 1000 {
		sample := int16(0)
		if at := time.Duration(i) * time.Second / ingest.SoundRate; at%outputInterval < on {
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

// awaitOutput waits for an event of a sound, which must not fail meanwhile.
func (h *harness) awaitOutput(kind job.Trigger, command string) ingest.EventData {
	h.Helper()
	found := make(map[job.Trigger]ingest.EventData)
	h.await(fmt.Sprintf("%s of %s", kind, command), func() bool {
		for _, event := range h.service.Events {
			if data := ingest.ParseEventData(event.Data); data.CommandID == command {
				found[event.Kind] = data
			}
		}
		return found[kind].CommandID != "" || found[job.BotOutputFailed].CommandID != ""
	})
	if found[kind].CommandID == "" {
		h.Fatalf("%s failed: %+v", command, found[job.BotOutputFailed])
	}
	return found[kind]
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

// beep plays the scenario's beeps to the end.
func (h *harness) beep() {
	h.Helper()
	command := h.play(beeping(h.scenario.beeps), ingest.SoundArgs{})
	h.awaitOutput(job.BotOutputStarted, command)
	h.awaitOutput(job.BotOutputFinished, command)
}

// awaitMicrophoneOff waits until the microphone is off after a sound.
func (h *harness) awaitMicrophoneOff() {
	h.Helper()
	finished := h.event(job.BotOutputFinished).EmittedAt
	h.awaitMeeting("the microphone is off again", func(e replica.Event) bool {
		return e.Kind == replica.EventMicrophone && e.Text == "off" && e.At.After(finished)
	})
}

// checkVoice checks that the beeps of beep arrived at the others, and once in the recording
// at the time at which they were sent, that the microphone was on only for them, and that the
// bot then left by itself.
func (h *harness) checkVoice() {
	speech, beeps := h.ownSpeech()[0], h.scenario.beeps
	if lasted := speech.To.Sub(speech.From); exact() && (lasted-time.Duration(beeps)*outputInterval).Abs() > 500*time.Millisecond {
		h.Errorf("the bot spoke for %s", lasted)
	}
	guests := h.meeting.Guests()
	last := guests[len(guests)-1]
	h.checkBeepsAt("heard", h.heardBeeps(last.ID), speech.From, beeps, -50*time.Millisecond, time.Second)
	h.checkBeepsAt("recorded", h.recordedBeeps(h.report.Media[0].Name, h.report.Parts[0].StartedAt), speech.From, beeps, -50*time.Millisecond,
		50*time.Millisecond)
	microphone := 0
	for _, e := range h.meeting.Events() {
		if e.Kind == replica.EventMicrophone && e.Text == "on" {
			microphone++
		}
	}
	if microphone > 2 { // before the bot joined, and for the sound
		h.Errorf("the microphone was turned on %d times", microphone)
	}
	if last.State != replica.StateLeft {
		h.Errorf("the bot did not leave by the page's button: %s", last.State)
	}
}

// exact reports whether each beep must be there at its time, on an idle machine. Otherwise
// one may be lost or cut in two, and those after a pause of the bot are late.
func exact() bool { return os.Getenv("STANDIN_TEST_QUALITY") == "exact" || testLength() > 0 }

// ownSpeech returns when the bot spoke, at least once.
func (h *harness) ownSpeech() []ingest.Speech {
	h.Helper()
	own := slices.DeleteFunc(slices.Clone(h.report.Speech), func(s ingest.Speech) bool { return s.PersonID != ingest.OwnID })
	if len(own) == 0 {
		h.Fatal("the bot did not speak")
	}
	return own
}

// TestOutput plays more beeps than the visits of the lane. STANDIN_TEST_SECONDS makes it
// longer.
func TestOutput(t *testing.T) {
	t.Parallel()
	beeps := 10
	if longer := testLength(); longer > 0 {
		beeps = int(longer / outputInterval)
	}
	for _, platform := range platforms() {
		t.Run(string(platform), func(t *testing.T) {
			visit(t, platform, scenario{
				beeps: beeps, reason: report.ReasonCommand,
				configure: func(s *Settings) { s.Recording.ParticipantAudio = launch.ParticipantAudioOn },
				during: func(h *harness) {
					h.admitAndRecord(1)
					h.awaitGuest(1, replica.EventMediaConnected)
					h.beep()
					h.leave(1)
				},
				check: checkOwnTrack,
			})
		})
	}
}

// checkOwnTrack checks the file of the bot's own voice.
func checkOwnTrack(h *harness) {
	from, beeps := h.ownSpeech()[0].From, h.scenario.beeps
	own := tracksOf(h.report, h.settings.DisplayName)
	if len(own) != 1 || !own[0].Complete {
		h.Fatalf("own tracks %+v of %+v", own, h.report.AudioTracks)
	}
	at := slices.IndexFunc(h.report.PackedTracks, func(p build.PackedTrack) bool { return p.Number == own[0].Number })
	if at < 0 {
		h.Fatalf("the own track was not packed: %+v", h.report.PackedTracks)
	}
	file := h.recordedBeeps(h.report.PackedTracks[at].File, own[0].StartedAt)
	h.checkBeepsAt("in the own track", file, from, beeps, -150*time.Millisecond, 150*time.Millisecond)
}

// recordedBeeps returns when the bot's beeps are in an uploaded file.
func (h *harness) recordedBeeps(name string, startedAt time.Time) []time.Time {
	h.Helper()
	onsets, err := mediacheck.Tones(h.Context(), h.file(name), outputHz)
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
	if exact() && len(got) != count || len(got) < count-1 || len(got) > count+1 {
		h.Errorf("%s %d beeps, want %d", what, len(got), count)
	}
	var late []time.Duration
	for i, at := range got {
		late = append(late, at.Sub(from.Add(time.Duration(i)*outputInterval)).Round(time.Millisecond))
	}
	slices.Sort(late)
	if len(late) == 0 {
		return
	}
	h.Logf("%s: late by p50 %v, p95 %v of %v", what, late[len(late)/2], late[len(late)*95/100], late)
	if !exact() {
		least, most = least-outputInterval, most+3*time.Second
	}
	if late[len(late)/2] < least || late[len(late)/2] > most {
		h.Errorf("%s: late by %v", what, late)
	}
}

// TestOutputEnds checks that a sound ends at once when a command stops it or the host
// mutes the bot, and that its outcome says why.
func TestOutputEnds(t *testing.T) {
	visit(t, job.Meet, scenario{
		reason: report.ReasonHostEnded, configure: speaking,
		during: func(h *harness) {
			h.admitAndRecord(1)
			h.awaitGuest(1, replica.EventMediaConnected)
			const long = 60 // beeps, half a minute
			stopped := h.play(beeping(long), ingest.SoundArgs{})
			waiting := h.play(beeping(1), ingest.SoundArgs{})
			h.awaitOutput(job.BotOutputStarted, stopped)
			h.command(ingest.StopOutput, nil)
			for _, one := range []string{stopped, waiting} {
				h.awaitEnd(one, ingest.Interrupted)
			}
			replaced := h.play(beeping(long), ingest.SoundArgs{})
			h.awaitOutput(job.BotOutputStarted, replaced)
			muted := h.play(beeping(long), ingest.SoundArgs{Interrupt: true})
			h.awaitEnd(replaced, ingest.Interrupted)
			h.awaitOutput(job.BotOutputStarted, muted)
			h.meeting.MuteGuests()
			h.awaitEnd(muted, ingest.StoppedByHost)
			again := h.play(beeping(1), ingest.SoundArgs{})
			h.awaitOutput(job.BotOutputFinished, again)
			h.meeting.End()
		},
	})
}

// awaitEnd waits until an output has failed for a reason.
func (h *harness) awaitEnd(command string, reason ingest.OutputFailure) {
	h.Helper()
	if end := h.awaitOutput(job.BotOutputFailed, command); end.Reason != string(reason) {
		h.Errorf("%s ended with %+v, want %s", command, end, reason)
	}
}
