package bot

import (
	"slices"
	"strings"
	"time"

	"standin/internal/ingest"
	"standin/internal/job"
	"standin/internal/recording"
	"standin/internal/replica"
)

// knobs changes the job's auto-leave.
func knobs(change func(*job.AutoLeave)) func(*Settings) {
	return func(s *Settings) { change(&s.AutoLeave) }
}

// successes are the visits whose end is as it should be, and the knobs.
func successes() []row {
	silent := knobs(func(k *job.AutoLeave) { k.AfterSilenceSeconds = 3 })
	return []row{
		{
			name: "removed", reason: reasonRemoved,
			act: func(o *outing) {
				o.letIn(1)
				// What somebody writes is no removal.
				if err := o.meeting.Say("Ben Okafor", "You've been removed from the meeting"); err != nil {
					o.Fatal(err)
				}
				o.meeting.Remove()
			},
			check: func(o *outing) {
				left := o.happens(1, replica.EventKind(replica.StateRemoved))
				o.delays.note("removal", o.told(job.BotRecordingStopped).EmittedAt.Sub(left.At))
			},
		},
		{
			name: "alone when the others have left", bot: knobs(func(k *job.AutoLeave) { k.AfterSoloSeconds = 1 }),
			act: func(o *outing) {
				o.letIn(1)
				if err := o.meeting.Leave(""); err != nil {
					o.Fatal(err)
				}
			},
			reason: reasonAlone,
		},
		{
			name: "alone from the start", only: onMeet(), meeting: replica.Settings{Participants: []replica.Participant{}},
			bot: knobs(func(k *job.AutoLeave) { k.AfterSoloSeconds = 2 }),
			act: func(o *outing) { o.admit(1) }, reason: reasonAlone, early: true,
		},
		{
			name: "silence", bot: silent, reason: reasonSilence,
			act: func(o *outing) { o.letIn(1); o.meeting.SetSilent(true) },
		},
		{
			name: "silence while the recording is paused", only: onMeet(), bot: silent, reason: reasonSilence,
			act: func(o *outing) {
				o.letIn(1)
				o.order(ingest.PauseRecording, nil)
				o.told(job.BotRecordingPaused)
				o.meeting.SetSilent(true)
			},
		},
		{
			name: "silence after the recording was stopped", only: onMeet(), bot: silent, reason: reasonSilence,
			act: func(o *outing) {
				o.letIn(1)
				o.order(ingest.StopRecording, nil)
				o.told(job.BotRecordingStopped)
				o.meeting.SetSilent(true)
			},
		},
		{
			name: "the maximum", bot: knobs(func(k *job.AutoLeave) { k.AfterMaxSeconds = 4 }), reason: reasonMaximum,
			act: func(o *outing) { o.admit(1) }, early: true,
		},
		{
			name: "another notetaker", bot: knobs(func(k *job.AutoLeave) { k.OnBotDetected = true }), reason: reasonCompeting,
			act:   func(o *outing) { o.letIn(1); o.joins("Ada's Fireflies.ai Notetaker") },
			check: detected(true),
		},
		{
			name: "another notetaker that may stay", only: onMeet(), reason: reasonHostEnded,
			act: func(o *outing) {
				o.letIn(1)
				o.joins("Otter Bergström") // a person
				o.joins("Ada's Fireflies.ai Notetaker")
				o.told(job.BotCompetingDetected)
				o.meeting.End()
			},
			check: detected(false),
		},
		{
			name: "ended by the host, after people came and went", reason: reasonHostEnded, act: people, check: checkPeople,
		},
	}
}

// joins adds somebody to the meeting.
func (o *outing) joins(name string) {
	o.Helper()
	if err := o.meeting.Join(replica.Participant{Name: name, Muted: true}); err != nil {
		o.Fatal(err)
	}
}

// detected tells that the notetaker was told of once, and nobody else.
func detected(left bool) func(*outing) {
	return func(o *outing) {
		o.Helper()
		var told []ingest.EventData
		for _, event := range o.service.ReceivedEvents() {
			if event.Kind == job.BotCompetingDetected {
				told = append(told, ingest.ParseEventData(event.Data))
			}
		}
		if len(told) != 1 || !strings.Contains(told[0].DetectedBotName, "Fireflies") || told[0].LeftMeeting == nil || *told[0].LeftMeeting != left {
			o.Errorf("told of notetakers: %+v", told)
		}
	}
}

// people lets somebody come and go while others speak.
func people(o *outing) {
	o.Helper()
	o.letIn(1)
	o.joins("Cleo Marsh")
	o.awaitReport("Cleo is there", func(r recording.FinalReport) bool { return person(r, "Cleo Marsh") != nil })
	if err := o.meeting.Leave("Cleo Marsh"); err != nil {
		o.Fatal(err)
	}
	o.awaitReport("Cleo has left", func(r recording.FinalReport) bool {
		cleo := person(r, "Cleo Marsh")
		return cleo != nil && !cleo.LeftAt.IsZero()
	})
	o.awaitReport("both others have spoken", func(r recording.FinalReport) bool {
		spoke := map[string]bool{}
		for _, speech := range r.Speech {
			spoke[speech.PersonID] = true
		}
		return len(spoke) == 2
	})
	o.meeting.End()
}

// person finds somebody in a report.
func person(report recording.FinalReport, name string) *ingest.Person {
	at := slices.IndexFunc(report.People, func(p ingest.Person) bool { return p.Name == name })
	if at < 0 {
		return nil
	}
	return &report.People[at]
}

// checkPeople holds the roster and the speech of the report against the
// meeting.
func checkPeople(o *outing) {
	o.Helper()
	var names []string
	for _, one := range o.report.People {
		names = append(names, one.Name)
	}
	slices.Sort(names)
	if !slices.Equal(names, []string{"Ada Quill", "Ben Okafor", "Cleo Marsh"}) {
		o.Fatalf("the report names %q", names)
	}
	for _, one := range o.report.People {
		if left := !one.LeftAt.IsZero(); left != (one.Name == "Cleo Marsh") || one.JoinedAt.Before(o.report.AdmittedAt) || left && one.LeftAt.Before(one.JoinedAt) {
			o.Errorf("%s: from %s to %s, admitted at %s", one.Name, one.JoinedAt, one.LeftAt, o.report.AdmittedAt)
		}
	}
	speaker := map[string]int{}
	for _, speech := range o.report.Speech {
		speaker[speech.PersonID]++
		if !speech.To.After(speech.From) {
			o.Errorf("speech that ends before it begins: %+v", speech)
		}
	}
	for _, one := range o.report.People {
		if spoke := speaker[one.ID] > 0; spoke == (one.Name == "Cleo Marsh") {
			o.Errorf("%s spoke %d times", one.Name, speaker[one.ID])
		}
	}
}

// awaitReport waits until the uploaded report fulfils a condition.
func (o *outing) awaitReport(what string, holds func(recording.FinalReport) bool) {
	o.Helper()
	o.await(what, func() bool {
		report, err := readReport(o.service.Media[ingest.ReportName])
		return err == nil && holds(report)
	})
}

// commands are the verbs, each obeyed in the meeting, and leaving in every
// phase.
func commands() []row {
	return []row{
		{
			name: "every command that is no question", reason: reasonCommand, act: everyCommand, check: checkPause,
		},
		{
			// Zoom's page goes on showing the last answer.
			name: "permission refused, and granted when asked again", only: []job.Platform{job.Meet, job.Teams}, reason: reasonHostEnded,
			act: func(o *outing) {
				o.letIn(1)
				first := o.order(ingest.RequestRecordingPermission, nil)
				o.told(job.BotPermissionRequest)
				second := o.order(ingest.RequestRecordingPermission, nil)
				o.answerPermission(1, false)
				o.toldTimes(job.BotPermissionResponse, 2)
				third := o.order(ingest.RequestRecordingPermission, nil)
				o.answerPermission(2, true)
				o.toldTimes(job.BotPermissionResponse, 3)
				o.answered([]string{first, second, third}, "denied", "denied", "granted")
				o.meeting.End()
			},
		},
		{
			name: "permission by the platform's own notice", reason: reasonHostEnded,
			act: func(o *outing) {
				o.letIn(1)
				o.order(ingest.RequestRecordingPermission, nil)
				o.told(job.BotPermissionRequest)
				if err := o.meeting.Notify(replica.NoticeRecorded); err != nil {
					o.Fatal(err)
				}
				o.told(job.BotPermissionResponse)
				o.meeting.End()
			},
			check: answeredWith("granted", "platform"),
		},
		{
			name: "permission that is needed and given", reason: reasonHostEnded,
			bot: func(s *Settings) { s.RequirePermission = true },
			act: func(o *outing) {
				o.admit(1)
				o.answerPermission(1, true)
				o.told(job.BotRecordingStarted)
				o.meeting.End()
			},
			check: func(o *outing) {
				kinds := o.kinds()
				if slices.Index(kinds, job.BotRecordingStarted) < slices.Index(kinds, job.BotPermissionResponse) {
					o.Errorf("it recorded before it was allowed to: %v", kinds)
				}
			},
		},
		{
			name: "told to leave the lobby", code: job.MeetingEnded, detail: "told to leave",
			act: func(o *outing) { o.waits(1); o.leave(1) },
		},
		{
			name: "told to leave while it opens the page", code: job.MeetingEnded, detail: "told to leave",
			meeting: replica.Settings{NeverLoads: true}, only: onMeet(),
			act: func(o *outing) { o.told(job.BotJoined); o.order(ingest.LeaveCall, nil) },
		},
		{
			name: "told to leave while it comes back", reason: reasonCommand,
			bot: func(s *Settings) { s.Timeouts.Connection = 500 * time.Millisecond },
			act: func(o *outing) {
				o.letIn(1)
				o.meeting.Disconnect()
				o.happens(2, replica.EventKind(replica.StateLobby))
				o.await("back in the lobby", func() bool { return o.log.count("screen=lobby") == 2 })
				o.leave(2)
			},
		},
	}
}

// chat matches a message of a guest's.
func chat(text string) func(replica.Event) bool {
	return func(event replica.Event) bool { return event.Kind == replica.EventChat && event.Text == text }
}

// idOf waits until the bot's report names somebody, and returns the id.
func (o *outing) idOf(name string) (id string) {
	o.Helper()
	o.awaitReport(name+" is known", func(r recording.FinalReport) bool {
		if one := person(r, name); one != nil {
			id = one.ID
		}
		return id != ""
	})
	return id
}

// leave orders the bot out, and waits until its guest has left by the button.
func (o *outing) leave(guest int) {
	o.Helper()
	ordered := time.Now()
	o.order(ingest.LeaveCall, nil)
	left := o.happens(guest, replica.EventKind(replica.StateLeft))
	o.delays.note("leaving", left.At.Sub(ordered))
}

// answered holds the answers to requests for permission, in their order, against
// what they should be.
func (o *outing) answered(commands []string, outcomes ...string) {
	o.Helper()
	var told []permissionData
	for _, event := range o.service.ReceivedEvents() {
		if event.Kind == job.BotPermissionResponse {
			told = append(told, readPermission(event.Data))
		}
	}
	for i, answer := range told {
		if answer.CommandID != commands[i] || answer.Outcome != outcomes[i] {
			o.Errorf("answer %d is %+v; want %s to %s", i, answer, outcomes[i], commands[i])
		}
	}
}

// everyCommand gives each command in turn, the first of them too early.
func everyCommand(o *outing) {
	o.Helper()
	o.waits(1)
	o.order(ingest.SendChatMessage, map[string]string{"text": "Hello from the lobby"})
	o.letIn(1)
	o.happensSo("the early message", chat("Hello from the lobby"))
	o.order(ingest.SendChatMessage, map[string]string{"text": "Hello again"})
	o.happensSo("the later message", chat("Hello again"))
	o.order(ingest.PinParticipant, map[string]string{"participantId": o.idOf("Ben Okafor")})
	if pinned := o.happens(1, replica.EventPinned); pinned.Text != "Ben Okafor" {
		o.Errorf("pinned: %q", pinned.Text)
	}
	o.order(ingest.PauseRecording, nil)
	o.told(job.BotRecordingPaused)
	o.order(ingest.ResumeRecording, nil)
	o.toldTimes(job.BotRecordingStarted, 2)
	o.order(ingest.StopRecording, nil)
	o.told(job.BotRecordingStopped)
	o.leave(1)
}

// checkPause holds the report against everyCommand.
func checkPause(o *outing) {
	o.Helper()
	if len(o.report.Gaps) != 1 || o.report.Gaps[0].Reason != recording.GapPaused || !o.report.Gaps[0].To.After(o.report.Gaps[0].From) {
		o.Errorf("the gaps are %+v", o.report.Gaps)
	}
	if len(o.report.Parts) != 1 || !o.report.Parts[0].EndedAt.Before(o.report.LeftAt) {
		o.Errorf("the stretches are %+v, left at %s", o.report.Parts, o.report.LeftAt)
	}
}
