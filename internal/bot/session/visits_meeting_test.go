package session

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"standin/internal/bot/browser"
	"standin/internal/bot/ingest"
	"standin/internal/bot/report"
	"standin/internal/jobs/job"
	"standin/internal/recording"
	"standin/internal/recording/build"
	"standin/internal/replica"
)

// silence makes the bot leave a silent meeting.
func silence(s *Settings) { s.AutoLeave.AfterSilenceSeconds = 3 }

// withoutCameras returns the usual participants without video, for meetings of which only
// the sound is recorded.
func withoutCameras() []replica.Participant {
	return []replica.Participant{{Name: ada, Beeps: true, CameraOff: true}, {Name: ben, CameraOff: true}}
}

// leaveScenarios are the sessions that end for a reason of the meeting or of the
// leave policy, unless commandScenarios or recoveryScenarios end for it.
func leaveScenarios() []scenario {
	return []scenario{
		{
			name: "participants and a tolerated notetaker join, then a leave command", lane: job.Teams, beeps: 4, reason: report.ReasonCommand,
			during: participantsJoinAndLeave, configure: audioOnly,
			// Nobody beeps: a speech ends only in a longer silence than that between beeps.
			meeting: replica.Settings{Participants: []replica.Participant{{Name: ada, CameraOff: true}, {Name: ben, CameraOff: true}}},
			check: func(h *harness) {
				checkParticipants(h)
				detectedNotetaker(false)(h)
			},
		},
		{
			name: "alone after others left", configure: func(s *Settings) { s.AutoLeave.AfterSoloSeconds = 1 }, reason: report.ReasonAlone,
			during: func(h *harness) { h.admitAndRecord(1); h.participantLeaves("") }, // everybody
		},
		{
			name: "without a recording", only: onMeet(), reason: report.ReasonSilence,
			configure: func(s *Settings) { silence(s); s.Recording.Mode = job.RecordNothing },
			during: func(h *harness) {
				h.admit(1)
				h.await("someone to speak", func() bool { return strings.Contains(h.service.Media[ingest.ReportName], `"personId"`) })
				h.meeting.SetSilent(true)
			},
			check: func(h *harness) {
				if len(h.report.Parts) > 0 || len(h.report.People) != 2 || !h.report.WithoutRecording ||
					slices.Contains(h.kinds(), job.BotRecordingStarted) {
					h.Errorf("events %v, report %+v", h.kinds(), h.report)
				}
			},
		},
		{
			name: "silence after stopping", only: onMeet(), configure: silence, reason: report.ReasonSilence,
			during: func(h *harness) {
				h.admitAndRecord(1)
				h.command(ingest.StopRecording, nil)
				h.event(job.BotRecordingStopped)
				h.meeting.SetSilent(true)
			},
		},
		{
			name: "maximum duration", configure: func(s *Settings) { audioOnly(s); s.AutoLeave.AfterMaxSeconds = 4 }, reason: report.ReasonMaximum,
			during: func(h *harness) { h.admit(1) }, early: true,
		},
	}
}

// remove removes the bot, after a chat message that is no removal.
func (h *harness) remove() {
	h.Helper()
	if err := h.meeting.Say("Ben Okafor", "You've been removed from the meeting"); err != nil {
		h.Fatal(err)
	}
	h.meeting.Remove()
}

// removalDelay checks the delay from the removal to the end of the recording.
func removalDelay(h *harness) {
	left := h.awaitGuest(1, replica.EventKind(replica.StateRemoved))
	h.checkDelay("the recording ended", h.event(job.BotRecordingStopped).EmittedAt.Sub(left.At))
}

// addParticipant adds a participant to the meeting.
func (h *harness) addParticipant(name string) {
	h.Helper()
	if err := h.meeting.Join(replica.Participant{Name: name, Muted: true}); err != nil {
		h.Fatal(err)
	}
}

// participantLeaves removes a participant from the meeting; "": all of them.
func (h *harness) participantLeaves(name string) {
	h.Helper()
	if err := h.meeting.Leave(name); err != nil {
		h.Fatal(err)
	}
}

// detectedNotetaker checks that the notetaker, and nobody else, was reported once.
func detectedNotetaker(left bool) func(*harness) {
	return func(h *harness) {
		var reported []ingest.EventData
		for _, event := range h.service.ReceivedEvents() {
			if event.Kind == job.BotCompetingDetected {
				reported = append(reported, ingest.ParseEventData(event.Data))
			}
		}
		if len(reported) != 1 || !strings.Contains(reported[0].DetectedBotName, "Fireflies") || reported[0].LeftMeeting == nil ||
			*reported[0].LeftMeeting != left {
			h.Errorf("reported notetakers: %+v", reported)
		}
	}
}

// The participants who join in participantsJoinAndLeave and stay.
const (
	otter     = "Otter Bergström" // a person, not a notetaker
	fireflies = "Ada's Fireflies.ai Notetaker"
)

// participantsJoinAndLeave lets participants join, and one leave, while others speak.
func participantsJoinAndLeave(h *harness) {
	h.admitAndRecord(1)
	h.addParticipant(otter)
	h.addParticipant(fireflies)
	h.event(job.BotCompetingDetected)
	h.addParticipant("Cleo Marsh")
	h.awaitReport("Cleo is in the roster", func(r build.FinalReport) bool { return person(r, "Cleo Marsh") != nil })
	h.participantLeaves("Cleo Marsh")
	h.awaitReport("Cleo has left", func(r build.FinalReport) bool {
		cleo := person(r, "Cleo Marsh")
		return cleo != nil && !cleo.LeftAt.IsZero()
	})
	h.beep()
	h.awaitReport("both others spoke", func(r build.FinalReport) bool {
		spoke := map[string]bool{}
		for _, one := range r.People {
			spoke[one.Name] = slices.ContainsFunc(r.Speech, func(s ingest.Speech) bool { return s.PersonID == one.ID })
		}
		return spoke[ada] && spoke[ben]
	})
	h.leave(1)
}

// person returns the entry of a participant, or nil.
func person(report build.FinalReport, name string) *ingest.Person {
	at := slices.IndexFunc(report.People, func(p ingest.Person) bool { return p.Name == name })
	if at < 0 {
		return nil
	}
	return &report.People[at]
}

// checkParticipants compares the report's roster and speech with the meeting.
func checkParticipants(h *harness) {
	var names []string
	for _, one := range h.report.People {
		names = append(names, one.Name)
	}
	slices.Sort(names)
	if !slices.Equal(names, []string{ada, fireflies, ben, "Cleo Marsh", otter, h.settings.DisplayName}) {
		h.Fatalf("the report names %q", names)
	}
	for _, one := range h.report.People {
		if one.ID == ingest.OwnID {
			continue
		}
		if left := !one.LeftAt.IsZero(); left != (one.Name == "Cleo Marsh") || one.JoinedAt.Before(h.report.AdmittedAt) ||
			left && one.LeftAt.Before(one.JoinedAt) {
			h.Errorf("%s: from %s to %s, admitted at %s", one.Name, one.JoinedAt, one.LeftAt, h.report.AdmittedAt)
		}
	}
	speaker := map[string]int{}
	for _, speech := range h.report.Speech {
		speaker[speech.PersonID]++
		if !speech.To.After(speech.From) {
			h.Errorf("speech ends before it starts: %+v", speech)
		}
	}
	for _, one := range h.report.People {
		if spoke := speaker[one.ID] > 0; spoke != slices.Contains([]string{ada, ben, h.settings.DisplayName}, one.Name) {
			h.Errorf("%s spoke %d times", one.Name, speaker[one.ID])
		}
	}
}

// awaitReport waits until a condition of the uploaded report holds.
func (h *harness) awaitReport(what string, holds func(build.FinalReport) bool) {
	h.Helper()
	h.await(what, func() bool {
		report, err := readReport(h.service.Media[ingest.ReportName])
		return err == nil && holds(report)
	})
}

// commandScenarios test each command in the meeting, and leaving in every phase.
func commandScenarios() []scenario {
	return []scenario{
		{
			name: "all commands but permission", lane: job.Meet, beeps: 4, reason: report.ReasonCommand, during: sendAllCommands, check: checkPause,
			configure: func(s *Settings) { s.BrowserMode = string(browser.Headed) },
		},
		{
			// Zoom's page keeps showing the last answer.
			name: "permission refused, then granted, then by the platform's notice, then removed", only: []job.Platform{job.Meet, job.Teams},
			reason: report.ReasonRemoved, configure: audioOnly,
			during: func(h *harness) {
				h.admitAndRecord(1)
				first := h.command(ingest.RequestRecordingPermission, nil)
				h.event(job.BotPermissionRequest)
				second := h.command(ingest.RequestRecordingPermission, nil)
				h.answerPermission(1, false)
				h.nthEvent(job.BotPermissionResponse, 2)
				third := h.command(ingest.RequestRecordingPermission, nil)
				h.answerPermission(2, true)
				h.nthEvent(job.BotPermissionResponse, 3)
				fourth := h.command(ingest.RequestRecordingPermission, nil)
				h.awaitMeeting("request for permission", nthRequest(3))
				if err := h.meeting.Notify(replica.NoticeRecorded); err != nil {
					h.Fatal(err)
				}
				if detail := readPermission(h.nthEvent(job.BotPermissionResponse, 4).Data).Detail; !strings.Contains(detail, "platform") {
					h.Errorf("detail of the answer by the notice: %q", detail)
				}
				h.checkAnswers([]string{first, second, third, fourth}, "denied", "denied", "granted", "granted")
				h.remove()
			},
			check: removalDelay,
		},
		{
			name: "required permission given, then silence", reason: report.ReasonSilence,
			configure: func(s *Settings) { audioOnly(s); s.RequirePermission = true; silence(s) },
			during: func(h *harness) {
				h.admit(1)
				h.answerPermission(1, true)
				h.event(job.BotRecordingStarted)
				h.meeting.SetSilent(true)
			},
			check: func(h *harness) {
				kinds := h.kinds()
				if slices.Index(kinds, job.BotRecordingStarted) < slices.Index(kinds, job.BotPermissionResponse) {
					h.Errorf("recorded without permission: %v", kinds)
				}
			},
		},
		{
			name: "leave command in the lobby, acknowledged after leaving", lane: job.ZoomWeb, outside: true, code: job.MeetingEnded,
			detail: "Left on request",
			during: func(h *harness) { h.awaitLobby(1); h.leaveAndAcknowledge() },
		},
		{
			name: "stopped in the lobby, with a command for the next bot", reason: ingest.EndStopped, detail: "asked to stop", outside: true,
			packedByService: true,
			during: func(h *harness) {
				h.awaitLobby(1)
				h.command(ingest.SendChatMessage, map[string]string{"text": "Hello from the next bot"})
				h.await("the command is deferred", func() bool { return h.log.count("command deferred") == 1 })
				h.stop()
			},
			check: func(h *harness) {
				h.awaitGuest(1, replica.EventKind(replica.StateLeft))
				if acked := h.service.Acked; len(acked) > 0 {
					h.Errorf("the bot acknowledged %v, which it did not execute", acked)
				}
			},
		},
		{
			name: "leave command while the page loads", lane: job.Meet, outside: true, code: job.MeetingEnded, detail: "Left on request",
			meeting: replica.Settings{NeverLoads: true}, only: onMeet(),
			during: func(h *harness) { h.event(job.BotJoined); h.command(ingest.LeaveCall, nil) },
		},
		{
			name: "leave command while rejoining", reason: report.ReasonCommand,
			configure: func(s *Settings) { s.Timeouts.Connection = 500 * time.Millisecond },
			during: func(h *harness) {
				h.admitAndRecord(1)
				h.meeting.Disconnect()
				h.awaitGuest(2, replica.EventKind(replica.StateLobby))
				h.await("back in the lobby", func() bool { return h.log.count("screen=lobby") == 2 })
				h.leave(2)
			},
		},
	}
}

// stopWhileRecording stops the bot's process after it has reported a segment.
func (h *harness) stopWhileRecording() {
	h.awaitReport("a segment", func(r build.FinalReport) bool {
		return slices.ContainsFunc(r.Parts, func(p ingest.RecordingPart) bool { return p.Segments > 0 })
	})
	h.stop()
}

// leftAndUploaded checks that a bot that was stopped has left the meeting and uploaded what
// it has, and ended nothing.
func leftAndUploaded(h *harness) {
	h.awaitGuest(1, replica.EventKind(replica.StateLeft))
	if kinds := h.kinds(); kinds[len(kinds)-1] != job.BotExited || slices.Contains(kinds, job.BotRecordingStopped) {
		h.Errorf("events: %v", kinds)
	}
	for _, part := range h.report.Parts {
		for number := range part.Segments {
			if _, ok := h.service.Uploaded(ingest.SegmentName(part.Number, number)); !ok {
				h.Errorf("segment %d of part %d was not uploaded", number, part.Number)
			}
		}
	}
}

// chat matches a chat message of the bot.
func chat(text string) func(replica.Event) bool {
	return func(event replica.Event) bool { return event.Kind == replica.EventChat && event.Text == text }
}

// idOf waits until the report has a participant, and returns the id.
func (h *harness) idOf(name string) (id string) {
	h.Helper()
	h.awaitReport(name+" is in the roster", func(r build.FinalReport) bool {
		if one := person(r, name); one != nil {
			id = one.ID
		}
		return id != ""
	})
	return id
}

// leave sends a leave command, and waits until the guest left by the button.
func (h *harness) leave(guest int) {
	h.Helper()
	sent := time.Now()
	h.command(ingest.LeaveCall, nil)
	left := h.awaitGuest(guest, replica.EventKind(replica.StateLeft))
	h.checkDelay("the bot left", left.At.Sub(sent))
}

// leaveAndAcknowledge sends a leave command, and checks that it is not acknowledged before
// the guest has left: a bot that is lost in between must get the command again.
func (h *harness) leaveAndAcknowledge() {
	var early atomic.Bool
	h.service.Set(func() {
		h.service.Intercept = func(_ http.ResponseWriter, r *http.Request) (done bool) {
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			if bytes.Contains(body, []byte(`"acked"`)) && h.meeting.Guests()[0].State == replica.StateLobby {
				early.Store(true)
			}
			return false
		}
	})
	id := h.command(ingest.LeaveCall, nil)
	h.awaitGuest(1, replica.EventKind(replica.StateLeft))
	// A bot that has delivered everything may end before the heartbeat with its last acknowledgment.
	h.service.Await("the acknowledgment", func() bool { return slices.Contains(h.service.Acked, id) || h.ended })
	if early.Load() {
		h.Error("the bot acknowledged the command before it left")
	}
}

// checkAnswers compares the answers to requests for permission, in order.
func (h *harness) checkAnswers(commands []string, outcomes ...string) {
	var answers []permissionData
	for _, event := range h.service.ReceivedEvents() {
		if event.Kind == job.BotPermissionResponse {
			answers = append(answers, readPermission(event.Data))
		}
	}
	for i, answer := range answers {
		if answer.CommandID != commands[i] || answer.Outcome != outcomes[i] {
			h.Errorf("answer %d is %+v; want %s to %s", i, answer, outcomes[i], commands[i])
		}
	}
}

// sendAllCommands sends each command, the first one before admission.
func sendAllCommands(h *harness) {
	h.awaitLobby(1)
	h.command(ingest.SendChatMessage, map[string]string{"text": "Hello from the lobby"})
	h.admitAndRecord(1)
	h.awaitMeeting("the deferred message", chat("Hello from the lobby"))
	h.command(ingest.SendChatMessage, map[string]string{"text": "Hello again"})
	h.awaitMeeting("the later message", chat("Hello again"))
	h.command(ingest.PinParticipant, map[string]string{"participantId": h.idOf("Ben Okafor")})
	if pinned := h.awaitGuest(1, replica.EventPinned); pinned.Text != "Ben Okafor" {
		h.Errorf("pinned: %q", pinned.Text)
	}
	h.beep()
	h.awaitMicrophoneOff()
	h.command(ingest.PauseRecording, nil)
	h.event(job.BotRecordingPaused)
	h.command(ingest.ResumeRecording, nil)
	h.nthEvent(job.BotRecordingStarted, 2)
	h.command(ingest.StopRecording, nil)
	h.event(job.BotRecordingStopped)
	h.leave(1)
}

// checkPause checks the report after sendAllCommands.
func checkPause(h *harness) {
	if gaps := h.laterGaps(); len(gaps) != 1 || gaps[0].Reason != recording.GapPaused || !gaps[0].To.After(gaps[0].From) {
		h.Errorf("gaps: %+v", h.report.Gaps)
	}
	if len(h.report.Parts) != 1 || !h.report.Parts[0].EndedAt.Before(h.report.LeftAt) {
		h.Errorf("parts: %+v, left at %s", h.report.Parts, h.report.LeftAt)
	}
}
