package lifecycle

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
)

// Maximum lengths in commands, in characters. Meeting pages accept far less;
// the bot splits what is too long for one message.
const (
	MaxChatText      = 4000
	MaxParticipantID = 1000
)

// The methods below queue a command for the job's bot and return its ID. The bot
// receives it with its next heartbeat, at once if it holds one open, and again
// until it acknowledges it. A permission request, a chat message and a pinned participant
// wait for a bot that does not run yet. A job that has ended, or whose bot has left the
// meeting, or has not been started for the other commands, is a *job.Error with
// InvalidState; one that does not exist or belongs to another consumer, NotFound.

// QueueCommand queues a command of the caller: a request for permission to record, or to pause, resume or
// stop the recording, to leave, or to stop output, all without args. While an earlier request for permission
// is not acknowledged, it returns its ID and queues nothing.
func (s *Service) QueueCommand(ctx context.Context, caller account.Caller, id uuid.UUID, kind ingest.CommandKind,
	args any) (command uuid.UUID, err error) {
	_, err = s.Change(ctx, id, func(ctx context.Context, c *Change) error {
		if err := checkControllable(c.Job, caller); err != nil {
			return err
		}
		switch kind {
		case ingest.LeaveCall, ingest.PauseRecording, ingest.ResumeRecording, ingest.StopRecording:
			if undispatched(c.Status) {
				return job.NewInvalidState("no bot has been started yet: the job is %s", c.Status)
			}
		case ingest.RequestRecordingPermission:
			waiting, found, err := c.tx.PendingCommand(ctx, id, kind)
			if err != nil || found {
				command = waiting
				return err
			}
		case ingest.StopOutput:
			if err := checkOutput(ctx, c.tx.Reader, c.Record, caller); err != nil {
				return err
			}
		}
		command = job.NewID()
		return c.queueForConsumer(ctx, command, kind, args)
	})
	return command, err
}

// SendChatMessage makes the bot write a message into the meeting's chat.
func (s *Service) SendChatMessage(ctx context.Context, caller account.Caller, id uuid.UUID, text string) (uuid.UUID, error) {
	if err := checkText("text", text, MaxChatText); err != nil {
		return uuid.Nil, err
	}
	return s.QueueCommand(ctx, caller, id, ingest.SendChatMessage, map[string]string{"text": text})
}

// PinParticipant makes the bot keep one participant in its picture, given by
// the ID in the manifest.
func (s *Service) PinParticipant(ctx context.Context, caller account.Caller, id uuid.UUID, participantID string) (uuid.UUID, error) {
	if err := checkText("participantId", participantID, MaxParticipantID); err != nil {
		return uuid.Nil, err
	}
	return s.QueueCommand(ctx, caller, id, ingest.PinParticipant, map[string]string{"participantId": participantID})
}

// checkControllable returns an error if the caller cannot give the job's bot
// commands.
func checkControllable(j job.Job, caller account.Caller) error {
	if err := checkOwner(j, caller); err != nil {
		return err
	}
	switch {
	case j.Status.Terminal():
		return job.NewInvalidState("the job has ended: it is %s", j.Status)
	case j.Status.Teardown():
		return job.NewInvalidState("the bot has left the meeting: the job is %s", j.Status)
	}
	return nil
}

// checkText returns an error if a text is blank or too long.
func checkText(field, text string, limit int) error {
	switch {
	case strings.TrimSpace(text) == "":
		return job.NewInvalidInput(field+" is blank", field)
	case utf8.RuneCountInString(text) > limit:
		return job.NewInvalidInput(fmt.Sprintf("%s is longer than %d characters", field, limit), field)
	}
	return nil
}
