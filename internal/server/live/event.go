// Package live follows jobs while they run: changes of their state, participants,
// captions and chat messages, as they are stored in the database. It works on
// every node, whichever node the bot reports to.
package live

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
	"standin/internal/jobs/lifecycle"
)

// Cursor is a position in the events of a job: the last entry of the timeline and
// the last text. The zero Cursor is the beginning.
type Cursor struct {
	Entry uuid.UUID
	Text  int64
}

// String returns the cursor as the id of a server-sent event.
func (c Cursor) String() string { return c.Entry.String() + "." + strconv.FormatInt(c.Text, 10) }

// ParseCursor is the inverse of String. An empty text is the beginning.
func ParseCursor(text string) (c Cursor, err error) {
	if text == "" {
		return Cursor{}, nil
	}
	entry, sequence, _ := strings.Cut(text, ".")
	if c.Entry, err = uuid.Parse(entry); err != nil || len(entry) != len(uuid.Nil.String()) {
		return Cursor{}, fmt.Errorf("the cursor %.60q is malformed", text)
	}
	if c.Text, err = strconv.ParseInt(sequence, 10, 64); err != nil || c.Text < 0 {
		return Cursor{}, fmt.Errorf("the cursor %.60q is malformed", text)
	}
	return c, nil
}

// endSuffix ends the ID of the event end, which is the ID of the event before it
// otherwise.
const endSuffix = ".end"

// EndID returns the ID of the event end after a position.
func EndID(c Cursor) string { return c.String() + endSuffix }

// CutEnd returns the ID of the last event before end, and whether the ID was that of end.
func CutEnd(id string) (before string, end bool) { return strings.CutSuffix(id, endSuffix) }

// Event is an event of a job, encoded once for all listeners.
type Event struct {
	Name   string // state, command, stream, output, caption, chat or transcript; empty for an entry that is no event
	Data   []byte // JSON without line breaks
	Cursor Cursor // position after the event
}

// stateData is the data of an event state.
type stateData struct {
	Type     string        `json:"type"`
	Status   job.Status    `json:"status"`
	Previous job.Status    `json:"previous"`
	At       job.Timestamp `json:"at"`
}

// commandData is the data of an event command.
type commandData struct {
	Type      string        `json:"type"`
	CommandID string        `json:"commandId"`
	Command   string        `json:"command"`
	Outcome   string        `json:"outcome"`          // done or failed
	Reason    string        `json:"reason,omitempty"` // of a failure
	At        job.Timestamp `json:"at"`
}

// outcomes are the outcomes of commands, by the kind of their timeline entry.
var outcomes = map[job.Trigger]string{lifecycle.CommandDone: "done", lifecycle.CommandFailed: "failed"}

// streamData is the data of an event stream.
type streamData struct {
	Type string `json:"type"`
	job.StreamChange
	At job.Timestamp `json:"at"`
}

// outputData is the data of an event output.
type outputData struct {
	Type      string        `json:"type"`
	CommandID string        `json:"commandId"`
	Command   string        `json:"command"`
	State     string        `json:"state"` // started, finished or failed
	Reason    string        `json:"reason,omitempty"`
	Detail    string        `json:"detail,omitempty"`
	At        job.Timestamp `json:"at"`
}

// Text is the data of an event caption or chat.
type Text struct {
	Type          job.TextKind  `json:"type"`
	ID            string        `json:"id"` // an event with the ID of an earlier one replaces its text
	ParticipantID string        `json:"participantId,omitempty"`
	Author        string        `json:"author,omitempty"`
	Text          string        `json:"text"`
	Language      string        `json:"language,omitempty"`
	StartedAt     job.Timestamp `json:"startedAt"`
	EndedAt       job.Timestamp `json:"endedAt"`
}

// Transcript is the data of an event transcript.
type Transcript struct {
	Type          job.TextKind     `json:"type"`
	ID            string           `json:"id"` // an event with the ID of an earlier one replaces it
	Revision      int              `json:"revision"`
	Final         bool             `json:"final"`
	ParticipantID string           `json:"participantId,omitempty"`
	Speaker       string           `json:"speaker,omitempty"`
	StartMs       int64            `json:"startMs"`
	EndMs         int64            `json:"endMs"`
	Text          string           `json:"text"`
	Language      string           `json:"language,omitempty"`
	Words         []job.SpokenWord `json:"words"`
	Confirmed     int              `json:"confirmed"`
	StartedAt     job.Timestamp    `json:"startedAt"`
	EndedAt       job.Timestamp    `json:"endedAt"`
}

// Participants is who is in the meeting, as of the bot's last heartbeat.
type Participants struct {
	Type         string                   `json:"type"`
	Participants []ingest.LiveParticipant `json:"participants"`
}

// Speaking is who of the participants speaks.
type Speaking struct {
	Type           string   `json:"type"`
	ParticipantIDs []string `json:"participantIds"`
}

// End is the data of the last event of a job.
type End struct {
	Type   string     `json:"type"`
	Status job.Status `json:"status"`
}

// entryEvent returns the event of a timeline entry. It has no name if the entry
// neither changed the state nor is about a command or a stream.
func entryEvent(e job.TimelineEntry, at Cursor) Event {
	if outcome, ok := outcomes[e.Kind]; ok {
		data := commandData{Type: "command", Outcome: outcome, At: job.Timestamp(e.ReceivedAt)}
		_ = json.Unmarshal(e.Data, &data) // lifecycle has encoded it
		return newEvent("command", at, data)
	}
	if e.Kind == lifecycle.StreamConnected || e.Kind == lifecycle.StreamDisconnected || e.Kind == lifecycle.StreamFailed {
		data := streamData{Type: "stream", At: job.Timestamp(e.ReceivedAt)}
		_ = json.Unmarshal(e.Data, &data.StreamChange) // lifecycle has encoded it
		return newEvent("stream", at, data)
	}
	if state, ok := ingest.OutputStates[e.Kind]; ok && e.Applied {
		from := ingest.ParseEventData(e.Data)
		return newEvent("output", at, outputData{
			Type: "output", CommandID: from.CommandID, Command: from.Command, State: state, Reason: from.Reason, Detail: from.Detail,
			At: job.Timestamp(e.ReceivedAt),
		})
	}
	if !e.Applied || e.From == e.To {
		return Event{Cursor: at}
	}
	return newEvent("state", at, stateData{Type: "state", Status: e.To, Previous: e.From, At: job.Timestamp(e.ReceivedAt)})
}

// textEvent returns the event of a text.
func textEvent(t job.MeetingText, at Cursor) Event {
	id := fmt.Sprintf("%d-%s", t.Attempt, t.ID)
	if s := t.Speech; s != nil {
		return newEvent(string(t.Kind), at, Transcript{
			Type: t.Kind, ID: id, Revision: s.Revision, Final: s.Final, ParticipantID: t.ParticipantID, Speaker: t.Author,
			StartMs: s.StartMs, EndMs: s.EndMs, Text: t.Text, Language: t.Language, Words: append([]job.SpokenWord{},
				s.Words...), Confirmed: s.Confirmed,
			StartedAt: job.Timestamp(t.StartedAt), EndedAt: job.Timestamp(t.EndedAt),
		})
	}
	return newEvent(string(t.Kind), at, Text{
		Type: t.Kind, ID: id, ParticipantID: t.ParticipantID, Author: t.Author, Text: t.Text, Language: t.Language,
		StartedAt: job.Timestamp(t.StartedAt), EndedAt: job.Timestamp(t.EndedAt),
	})
}

func newEvent(name string, at Cursor, data any) Event { return Event{name, encode(data), at} }

// encode returns JSON, which has no line breaks.
func encode(value any) []byte {
	data, _ := json.Marshal(value) // the types of this package can be encoded
	return data
}
