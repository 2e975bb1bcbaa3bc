package webhook

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
)

// EventType is a kind of event that an endpoint can take, with an example.
type EventType struct {
	When string // when it is emitted, as a sentence
	Event
}

// EventTypes returns all kinds of events.
var EventTypes = sync.OnceValue(func() []EventType {
	j := job.Job{
		ID: exampleID(1), Mode: job.Test, ExternalID: "test-event", MeetingURL: "https://meet.google.com/abc-defg-hij", Platform: job.Meet,
		DisplayName: job.DefaultDisplayName, JoinAt: exampleTime, CreatedAt: exampleTime.Add(-time.Hour),
		Metadata:  json.RawMessage(`{"testEvent":true}`),
		AutoLeave: job.DefaultAutoLeave(), State: job.State{Status: job.InMeeting, Attempts: 1, StartedAt: exampleTime},
	}
	completed, failed := j, j
	completed.Status, completed.FinalizedAt = job.Completed, exampleTime.Add(time.Hour)
	completed.ManifestURI = "https://standin.example.com/api/v1/jobs/" + j.ID.String() + "/manifest"
	failed.Status, failed.FailureCode, failed.FailureDetail = job.Failed, job.LobbyTimeout, "nobody admitted the bot within 10m0s"
	participant := ingest.LiveParticipant{ID: "p1", Name: "Ada Lovelace"}
	meeting := CalendarMeeting{
		CalendarID: exampleID(2), EventID: exampleID(3), ICalUID: "7kukuqrfedlm2f9t@google.com", Title: "Weekly review",
		StartsAt: job.Timestamp(exampleTime.Add(time.Hour)), EndsAt: job.Timestamp(exampleTime.Add(2 * time.Hour)), MeetingURL: &j.MeetingURL,
		Record: true, Reason: "all meetings are recorded", JobID: &j.ID,
	}
	cancelled, problem := meeting, "the calendar server responded with status 404"
	cancelled.Record, cancelled.Reason, cancelled.JobID = false, "the meeting was cancelled", nil
	return []EventType{
		{"The status of a job has changed.", StatusChanged(j, job.Joining, j.Status)},
		{"A job is completed and its manifest is written.", Finalized(completed)},
		{"A job has failed.", Failed(failed)},
		{
			"A transcript is attached to a recording.",
			TranscriptReady(completed, job.TranscriptResult{Revision: 2, Segments: 214}),
		},
		{
			"The picture of the videos of participants is attached to a recording.",
			VideoReady(completed, job.VideoResult{Revision: 2, DurationMs: 1_862_400, Bytes: 281_900_000}),
		},
		{
			"The host has answered a request to record, or has not answered in time.",
			PermissionResponse(j, true, ""),
		},
		{"Another notetaker is in the meeting.", CompetingBot(j, "Example Notetaker", false)},
		{
			"A command to a bot was executed or has failed.",
			CommandOutcome(j, exampleID(7).String(), ingest.SendChatMessage, ""),
		},
		{
			"A stream of live sound was connected or lost, or is not connected again.",
			StreamChanged(j, job.StreamChange{Stream: 0, Host: "sound.example.com", State: "connected"}),
		},
		{
			"What a bot plays has started, finished or failed.",
			Output(j, "finished", ingest.EventData{CommandID: exampleID(8).String(), Command: string(ingest.Speak)}),
		},
		{"Somebody has joined the meeting.", Joined(j, participant)},
		{"Somebody has left the meeting.", Left(j, participant)},
		{"Somebody has started or stopped speaking.", Speaking(j, participant, true)},
		{"A chat message was written or edited.", Chat(j, job.MeetingText{
			ID: "17", ParticipantID: "p1", Author: "Ada Lovelace", Text: "Slides: https://example.com/slides", StartedAt: exampleTime,
		})},
		{
			"Somebody has said something, of a meeting that is transcribed while it runs.", Transcript(j, job.MeetingText{
				ID: "p1-000004", ParticipantID: "p1", Author: "Ada Lovelace", Text: "Good morning", Language: "en", StartedAt: exampleTime,
				Speech: &job.Speech{StartMs: 62_120, EndMs: 62_900, Words: []job.SpokenWord{
					{Text: "Good", StartMs: 62_120, EndMs: 62_400}, {Text: "morning", StartMs: 62_440, EndMs: 62_900},
				}},
			}),
		},
		{"A meeting of a connected calendar gets a bot.", CalendarChanged(CalendarEventScheduled, meeting)},
		{"A meeting that gets a bot has changed in its calendar.", CalendarChanged(CalendarEventUpdated, meeting)},
		{"A meeting no longer gets a bot.", CalendarChanged(CalendarEventCancelled, cancelled)},
		{
			"A calendar can be read again, or cannot be read.",
			CalendarStateOf(CalendarState{CalendarID: exampleID(2), Name: "Ada", State: "failing", Previous: "active", Error: &problem}),
		},
	}
})

// The longest choice of events, so that a choice has a bound.
const maxEventPatterns = 50

// CheckEvents returns a *job.Error if a choice of events is empty, or if one of it is neither
// the name of an event, nor the beginning of one and a star as in bot.*, nor a star alone.
func CheckEvents(patterns []string) error {
	if len(patterns) == 0 || len(patterns) > maxEventPatterns {
		return job.NewInvalidInput(fmt.Sprintf("choose 1 to %d events", maxEventPatterns), "events")
	}
	for i, pattern := range patterns {
		if !slices.ContainsFunc(EventTypes(), func(e EventType) bool { return matches(pattern, e.Name) }) {
			return job.NewInvalidInput(fmt.Sprintf("there is no event %.100q", pattern), "events", i)
		}
	}
	return nil
}

// Takes reports whether a choice of events includes an event.
func Takes(patterns []string, event string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return matches(pattern, event) })
}

// FirstTaken returns the first event that a choice includes; JobStatusChanged for the URLs of
// jobs, which have no choice.
func FirstTaken(patterns []string) string {
	for _, e := range EventTypes() {
		if Takes(patterns, e.Name) {
			return e.Name
		}
	}
	return JobStatusChanged
}

func matches(pattern, event string) bool {
	if pattern == "*" {
		return true
	}
	if group, ok := strings.CutSuffix(pattern, ".*"); ok {
		return strings.HasPrefix(event, group+".")
	}
	return pattern == event
}

// Example returns an event of a type with made-up content, as test events and the
// documentation show it. The metadata of its job have "testEvent". The error is a *job.Error
// without such a type.
func Example(name string) (Event, error) {
	for _, e := range EventTypes() {
		if e.Name == name {
			return e.Event, nil
		}
	}
	return Event{}, job.NewInvalidInput(fmt.Sprintf("there is no event %.100q", name), "event")
}

// ExampleBody returns the body of a request with an example.
func ExampleBody(name string) ([]byte, error) {
	e, err := Example(name)
	if err != nil {
		return nil, err
	}
	data, err := e.Data(3)
	if err != nil {
		return nil, err
	}
	return Body(Delivery{
		ID: "dlv_0192f5c86911a7c1b0c86a7b8c9d0e1f", Event: name, EmittedAt: exampleTime, Attempt: 1, Version: Version2, Data: data,
	})
}

// exampleTime is the time of all examples.
var exampleTime = time.Date(2026, 11, 20, 13, 0, 3, 262e6, time.UTC)

// exampleID returns the ID of one of the objects in the examples.
func exampleID(n byte) uuid.UUID {
	id := uuid.MustParse("0192f5c8-5c1e-7a30-9a4f-3f1d2b6c7e00")
	id[15] = n
	return id
}
