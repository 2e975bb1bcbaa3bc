package session

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"standin/internal/bot/ingest"
	"standin/internal/bot/report"
	"standin/internal/jobs/job"
	"standin/internal/launch"
	"standin/internal/replica"
)

// TestVoiceLost: a sound that the bot was playing when its page was reloaded, its browser
// crashed or it was removed has an outcome that says so. Those that wait are played when the
// bot is back.
func TestVoiceLost(t *testing.T) {
	t.Parallel()
	const next = 4 // beeps of the sound that waits
	for name, c := range map[string]struct {
		platform job.Platform
		lose     func(*harness)
		reason   string // the end of the job
	}{
		"reload":           {job.Meet, func(h *harness) { h.meeting.Reload() }, report.ReasonHostEnded},
		"reload, on Teams": {job.Teams, func(h *harness) { h.meeting.Reload() }, report.ReasonHostEnded},
		"reload, on Zoom":  {job.ZoomWeb, func(h *harness) { h.meeting.Reload() }, report.ReasonHostEnded}, // to the waiting room
		"crash":            {job.Meet, func(h *harness) { h.kill("") }, report.ReasonHostEnded},
		"removal":          {job.Meet, func(h *harness) { h.meeting.Remove() }, report.ReasonRemoved},
	} {
		t.Run(name, func(t *testing.T) {
			back := c.reason == report.ReasonHostEnded
			var lost, waiting string
			visit(t, c.platform, scenario{
				reason: c.reason, configure: speaking,
				during: func(h *harness) {
					h.admitAndRecord(1)
					h.awaitGuest(1, replica.EventMediaConnected)
					lost, waiting = h.play(beeping(120), ingest.SoundArgs{}), h.play(beeping(next), ingest.SoundArgs{})
					h.awaitOutput(job.BotOutputStarted, lost)
					h.awaitHeard("g1", 100)
					c.lose(h)
					h.awaitEnd(lost, ingest.Interrupted)
					if !back {
						return
					}
					h.admitAndRecord(2)
					h.awaitOutput(job.BotOutputFinished, waiting)
					h.awaitHeard("g2", 100)
					h.meeting.End()
				},
				check: func(h *harness) {
					h.checkOutcomes(lost, job.BotOutputStarted, job.BotOutputFailed)
					if !back {
						return
					}
					h.checkOutcomes(waiting, job.BotOutputStarted, job.BotOutputFinished)
					own := h.ownSpeech()
					last, part := own[len(own)-1].From, h.report.Parts[len(h.report.Parts)-1].StartedAt
					h.checkBeepsAt("heard", h.heardBeeps("g2"), last, next, -50*time.Millisecond, time.Second)
					if last.Before(part) {
						h.Errorf("the sound that waited began %v before the recording", part.Sub(last))
					}
				},
			})
		})
	}
}

// awaitHeard waits until a number of packets of the bot's sound have arrived at the others.
func (h *harness) awaitHeard(guest string, packets int) {
	h.Helper()
	h.await("the bot's sound", func() bool { return len(h.meeting.Heard(guest)) >= packets })
}

// checkOutcomes checks the events of a sound.
func (h *harness) checkOutcomes(command string, want ...job.Trigger) {
	h.Helper()
	var got []job.Trigger
	h.service.Set(func() {
		for _, event := range h.service.Events {
			if _, of := ingest.OutputStates[event.Kind]; of && ingest.ParseEventData(event.Data).CommandID == command {
				got = append(got, event.Kind)
			}
		}
	})
	if !slices.Equal(got, want) {
		h.Errorf("the sound has the events %v, want %v", got, want)
	}
}

// TestOwnVoiceIsNoSpeech: what the bot says does not keep it in a meeting in which nobody
// else speaks, and its captions are not kept as those of others.
func TestOwnVoiceIsNoSpeech(t *testing.T) {
	t.Parallel()
	for _, platform := range platforms() {
		t.Run(string(platform), func(t *testing.T) {
			var spoke string
			visit(t, platform, scenario{
				reason: report.ReasonSilence,
				configure: func(s *Settings) {
					speaking(s)
					s.Recording.Captions, s.Recording.CaptionsLanguage = launch.TextsOn, "en-US"
					s.AutoLeave.AfterSilenceSeconds = 8
				},
				during: func(h *harness) {
					h.admitAndRecord(1)
					h.awaitGuest(1, replica.EventMediaConnected)
					h.speak(spoken{ada, []string{"Others are kept."}})
					h.meeting.SetSilent(true)
					spoke = h.play(beeping(240), ingest.SoundArgs{})
					h.awaitOutput(job.BotOutputStarted, spoke)
					if platform == job.ZoomWeb { // its captions have no names
						return
					}
					if _, err := h.meeting.AddCaption(h.settings.DisplayName, "The bot talks to itself."); err != nil {
						h.Fatal(err)
					}
				},
				check: func(h *harness) {
					h.checkOutcomes(spoke, job.BotOutputStarted, job.BotOutputFailed)
					for _, one := range textsOfKind(h.service.Texts, job.CaptionText) {
						if strings.Contains(one.Text, "itself") {
							h.Errorf("the bot's own caption is kept: %+v", one)
						}
					}
				},
			})
		})
	}
}

// TestBargeIn measures how long others hear the bot after a command that stops it.
func TestBargeIn(t *testing.T) {
	const rounds = 5
	var starts, stops []time.Time
	visit(t, job.Meet, scenario{
		reason: report.ReasonHostEnded, configure: speaking,
		during: func(h *harness) {
			h.admitAndRecord(1)
			h.awaitGuest(1, replica.EventMediaConnected)
			for range rounds {
				starts = append(starts, time.Now())
				sound := h.play(tone(30*time.Second, outputInterval), ingest.SoundArgs{})
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
			if exact() {
				most = 200 * time.Millisecond
			}
			if h.Logf("others heard the bot for %v after it was to stop", delays); delays[0] < -time.Second || delays[len(delays)-1] > most {
				h.Errorf("want at most %v", most)
			}
		},
	})
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
			times = append(times, arrival(packets, uint32((at+window)/2)))
		}
	}
	return times
}
