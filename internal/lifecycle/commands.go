package lifecycle

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/ingest"
	"standin/internal/job"
)

// Bounds of what a command carries, in characters. Meeting pages take far
// less; the bot divides what is too long for one message.
const (
	MaxChatText      = 4000
	MaxParticipantID = 1000
)

// The control verbs queue a command for the job's bot and return its id
// (specification, request-recording-permission; contract, Jobs). The bot gets
// it with its next heartbeat, at once when it holds one open, and again until
// it has acknowledged it. A job whose bot is not there yet keeps its commands
// until the bot comes. A job that has ended, or whose bot has left the meeting,
// gives a *job.Error with InvalidState; one that is missing or another's,
// NotFound.

// RequestRecordingPermission has the bot ask the host for permission to
// record. While an earlier request is not acknowledged, its id is returned and
// nothing is queued.
func (s *Service) RequestRecordingPermission(ctx context.Context, caller account.Caller, id uuid.UUID) (uuid.UUID, error) {
	var command uuid.UUID
	_, err := s.Change(ctx, id, func(c *Change) error {
		if err := controllable(c, caller); err != nil {
			return err
		}
		waiting, waits, err := c.q.PendingCommand(ctx, id, ingest.RequestRecordingPermission)
		if err != nil || waits {
			command = waiting
			return err
		}
		command, err = c.command(ctx, ingest.RequestRecordingPermission, nil)
		return err
	})
	return command, err
}

// PauseRecording has the bot pause its recording.
func (s *Service) PauseRecording(ctx context.Context, caller account.Caller, id uuid.UUID) (uuid.UUID, error) {
	return s.command(ctx, caller, id, ingest.PauseRecording, nil)
}

// ResumeRecording has the bot go on recording.
func (s *Service) ResumeRecording(ctx context.Context, caller account.Caller, id uuid.UUID) (uuid.UUID, error) {
	return s.command(ctx, caller, id, ingest.ResumeRecording, nil)
}

// StopRecording has the bot end its recording and stay in the meeting.
func (s *Service) StopRecording(ctx context.Context, caller account.Caller, id uuid.UUID) (uuid.UUID, error) {
	return s.command(ctx, caller, id, ingest.StopRecording, nil)
}

// LeaveCall has the bot leave the meeting and finish the recording.
func (s *Service) LeaveCall(ctx context.Context, caller account.Caller, id uuid.UUID) (uuid.UUID, error) {
	return s.command(ctx, caller, id, ingest.LeaveCall, nil)
}

// SendChatMessage has the bot write into the meeting's chat.
func (s *Service) SendChatMessage(ctx context.Context, caller account.Caller, id uuid.UUID, text string) (uuid.UUID, error) {
	if err := checkText("text", text, MaxChatText); err != nil {
		return uuid.Nil, err
	}
	return s.command(ctx, caller, id, ingest.SendChatMessage, map[string]string{"text": text})
}

// PinParticipant has the bot keep one participant in its picture, named by the
// id that the manifest gives.
func (s *Service) PinParticipant(ctx context.Context, caller account.Caller, id uuid.UUID, participantID string) (uuid.UUID, error) {
	if err := checkText("participantId", participantID, MaxParticipantID); err != nil {
		return uuid.Nil, err
	}
	return s.command(ctx, caller, id, ingest.PinParticipant, map[string]string{"participantId": participantID})
}

// command queues a command of the caller's for the job.
func (s *Service) command(ctx context.Context, caller account.Caller, id uuid.UUID, kind ingest.CommandKind, args map[string]string) (uuid.UUID, error) {
	var command uuid.UUID
	_, err := s.Change(ctx, id, func(c *Change) (err error) {
		if err := controllable(c, caller); err != nil {
			return err
		}
		command, err = c.command(ctx, kind, args)
		return err
	})
	return command, err
}

// command queues a command and writes it on the timeline.
func (c *Change) command(ctx context.Context, kind ingest.CommandKind, args map[string]string) (uuid.UUID, error) {
	var encoded json.RawMessage
	if args != nil {
		var err error
		if encoded, err = json.Marshal(args); err != nil {
			return uuid.Nil, fmt.Errorf("encode a command: %w", err)
		}
	}
	id, err := c.queue(ctx, kind, encoded)
	if err != nil {
		return uuid.Nil, err
	}
	return id, c.addEntry(ctx, CommandQueued, map[string]string{"commandId": id.String(), "command": string(kind)})
}

// controllable is the error for a job whose bot takes no commands from the
// caller.
func controllable(c *Change, caller account.Caller) error {
	if err := owned(c.Record, caller); err != nil {
		return err
	}
	switch {
	case c.Status.Terminal():
		return &job.Error{Code: job.InvalidState, Message: "the job has ended: it is " + string(c.Status)}
	case c.Status.Teardown():
		return &job.Error{Code: job.InvalidState, Message: "the bot has left the meeting: the job is " + string(c.Status)}
	}
	return nil
}

// checkText is the error for a text that is blank or too long.
func checkText(field, text string, longest int) error {
	switch {
	case strings.TrimSpace(text) == "":
		return &job.Error{Code: job.InvalidInput, Message: field + " is blank", Path: []any{field}}
	case utf8.RuneCountInString(text) > longest:
		return &job.Error{Code: job.InvalidInput, Message: fmt.Sprintf("%s is longer than %d characters", field, longest), Path: []any{field}}
	}
	return nil
}
