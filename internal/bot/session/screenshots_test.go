package session

import (
	"bytes"
	"image/jpeg"
	"testing"

	"standin/internal/bot/ingest"
	"standin/internal/bot/report"
	"standin/internal/jobs/job"
	"standin/internal/launch"
)

// TestScreenshots watches a bot from the lobby on. A paused meeting is not shown, and its chat
// is not kept.
func TestScreenshots(t *testing.T) {
	visit(t, job.Meet, scenario{
		prepare:   watched,
		configure: func(s *Settings) { audioOnly(s); s.Recording.Chat = launch.TextsOn },
		during: func(h *harness) {
			h.awaitLobby(1)
			h.awaitScreenshots(1)
			h.admitAndRecord(1)
			h.awaitScreenshots(3)
			h.say("This is on the record.")
			h.awaitTexts(job.ChatText, 1)
			h.command(ingest.PauseRecording, nil)
			h.event(job.BotRecordingPaused)
			h.say("This is off the record.")
			h.awaitHeartbeats(5) // a picture may be on its way
			before := h.screenshots()
			h.awaitHeartbeats(5) // a second each
			if after := h.screenshots(); after != before {
				h.Errorf("%d pictures of a meeting that is not recorded", after-before)
			}
			h.command(ingest.ResumeRecording, nil)
			h.awaitScreenshots(before + 1)
			h.meeting.End()
		},
		reason: report.ReasonHostEnded,
		check: func(h *harness) {
			if said := textsOfKind(h.service.Texts, job.ChatText); len(said) != 1 {
				h.Errorf("the chat has %v", said)
			}
			for _, picture := range h.service.Screenshots {
				if size, err := jpeg.DecodeConfig(bytes.NewReader(picture)); err != nil || size.Width < 320 || len(picture) > ingest.MaxScreenshot {
					h.Errorf("a picture of %d × %d pixels, %d bytes: %v", size.Width, size.Height, len(picture), err)
				}
			}
		},
	})
}

// TestScreenshotsNeedPermission checks that a bot that must ask first shows nothing.
func TestScreenshotsNeedPermission(t *testing.T) {
	visit(t, job.Meet, scenario{
		prepare:   watched,
		configure: func(s *Settings) { s.RequirePermission = true },
		during: func(h *harness) {
			h.awaitLobby(1)
			h.awaitHeartbeats(5)
			if n := h.screenshots(); n > 0 {
				h.Errorf("%d pictures without permission", n)
			}
			h.meeting.Deny()
		},
		outside: true, code: job.HostDeniedAdmission,
	})
}

// watched makes the service ask for pictures, once a second.
func watched(h *harness) {
	h.service.Set(func() { h.service.Watched, h.service.NextSeconds = true, 1 })
}

// say writes a message to the chat of the meeting.
func (h *harness) say(text string) {
	h.Helper()
	if err := h.meeting.Say("Ben Okafor", text); err != nil {
		h.Fatal(err)
	}
}

// screenshots returns the number of pictures that the service has received.
func (h *harness) screenshots() (n int) {
	h.service.Set(func() { n = len(h.service.Screenshots) })
	return n
}

// awaitScreenshots waits until the service has received so many pictures.
func (h *harness) awaitScreenshots(n int) {
	h.Helper()
	h.await("pictures of the page", func() bool { return len(h.service.Screenshots) >= n })
}

// awaitHeartbeats waits for so many more heartbeats.
func (h *harness) awaitHeartbeats(n int) {
	h.Helper()
	var until int
	h.service.Set(func() { until = h.service.Heartbeats + n })
	h.await("heartbeats", func() bool { return h.service.Heartbeats >= until })
}
