package session

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"standin/internal/base/text"
	"standin/internal/bot/ingest"
	"standin/internal/bot/meeting"
	"standin/internal/bot/report"
	"standin/internal/bot/rtms"
)

// commands executes the service's commands, and acknowledges each of them when it
// was executed or refused. A bot that is lost before has not acknowledged it, so
// the service sends it to the next attempt. Commands that arrive before the bot is
// admitted wait until then.
type commands struct {
	log      *slog.Logger
	ack      func(id, failure string)
	consent  *consent
	report   *report.Report
	deferred []ingest.Command
}

// accept executes a command, or defers it if the session is not in the meeting.
func (c *commands) accept(ctx context.Context, command ingest.Command, s *session) *exitResult {
	if s.page.phase != phaseAdmitted {
		return c.acceptEarly(command)
	}
	return c.execute(ctx, command, s)
}

// acceptEarly accepts a command for a bot that is not in the meeting. Only
// leave_call is executed there.
func (c *commands) acceptEarly(command ingest.Command) *exitResult {
	if command.Kind == ingest.LeaveCall {
		return &exitResult{reason: report.ReasonCommand, detail: "Left on request before being admitted.", command: &command}
	}
	c.log.Info("command deferred until the bot is admitted", "command", command.ID, "kind", command.Kind)
	c.deferred = append(c.deferred, command)
	return nil
}

// settle acknowledges a command that was executed or refused; err is why it failed.
// A command that was not started, or that the loss of the page interrupted, is
// deferred, so that the next page executes it. An interrupted chat message is not
// repeated, because it may have been sent.
func (c *commands) settle(command ingest.Command, err error) {
	interrupted := errors.Is(err, context.Canceled) || browserLost(err)
	if errors.Is(err, errNotStarted) || interrupted && command.Kind != ingest.SendChatMessage {
		c.log.Info("command deferred", "command", command.ID, "kind", command.Kind, "reason", err)
		c.deferred = append(c.deferred, command)
		return
	}
	c.log.Info("command", "command", command.ID, "kind", command.Kind, "error", err)
	failure := ""
	switch {
	case interrupted:
		failure = "the page was left meanwhile; the message may have been sent"
	case errors.Is(err, context.DeadlineExceeded):
		failure = "the meeting page did not allow it in time"
	case err != nil:
		failure = text.Clean(err.Error(), ingest.MaxCommandFailure)
	}
	c.ack(command.ID, failure)
}

// pageCommands are those that need a page.
var pageCommands = []ingest.CommandKind{
	ingest.SendChatMessage, ingest.PinParticipant, ingest.PlayAudio, ingest.Speak, ingest.SetCamera, ingest.ShareScreen,
}

func (c *commands) execute(ctx context.Context, command ingest.Command, s *session) *exitResult {
	page, recording := s.page, s.recording
	if page.tab == nil && slices.Contains(pageCommands, command.Kind) {
		c.settle(command, rtms.ErrReceivesOnly)
		return nil
	}
	switch command.Kind {
	case ingest.LeaveCall:
		return &exitResult{reason: report.ReasonCommand, detail: "Left the call on request.", command: &command}
	case ingest.RequestRecordingPermission:
		c.consent.request(ctx, page, &command)
	case ingest.PauseRecording:
		recording.pause(ctx, command)
	case ingest.ResumeRecording:
		recording.resume(ctx, command)
	case ingest.StopRecording:
		recording.stop(ctx, command)
	case ingest.SendChatMessage:
		page.execute(ctx, command, func(ctx context.Context) error {
			var args struct{ Text string }
			if err := decodeArgs(command, &args); err != nil {
				return err
			}
			return page.adapter.SendChat(ctx, page.tab, args.Text)
		})
	case ingest.PinParticipant:
		var args struct{ ParticipantID, Name string }
		var participant meeting.Participant
		err := decodeArgs(command, &args)
		if err == nil {
			name := cmp.Or(args.Name, c.report.NameOf(args.ParticipantID))
			participant, err = findParticipant(page.last.seen.Participants, args.ParticipantID, name)
		}
		if err != nil {
			c.settle(command, err)
			return nil
		}
		page.execute(ctx, command, func(ctx context.Context) error { return page.adapter.Pin(ctx, page.tab, participant) })
	case ingest.PlayAudio, ingest.Speak:
		s.speaker.play(ctx, command)
	case ingest.StopOutput:
		s.speaker.interrupt(ctx, errInterrupted)
		c.settle(command, nil)
	case ingest.SetCamera:
		s.own.replaced = true
		s.camera.show(ctx, command)
	case ingest.ShareScreen:
		s.screen.show(ctx, command)
	default:
		c.settle(command, errors.New("this version of the bot does not support the command"))
	}
	return nil
}

// decodeArgs decodes the arguments of a command.
func decodeArgs(command ingest.Command, args any) error {
	if err := json.Unmarshal(command.Args, args); err != nil {
		return fmt.Errorf("decode the command: %w", err)
	}
	return nil
}

// findParticipant finds a participant by the roster's id, which is also the
// manifest's, or else by name: ids may change when the bot rejoins.
func findParticipant(participants []meeting.Participant, id, name string) (meeting.Participant, error) {
	for _, p := range participants {
		if id != "" && p.ID == id {
			return p, nil
		}
	}
	var found []meeting.Participant
	for _, p := range participants {
		if name != "" && strings.EqualFold(p.Name, name) {
			found = append(found, p)
		}
	}
	switch len(found) {
	case 0:
		return meeting.Participant{}, errors.New("no such participant is in the meeting")
	case 1:
		return found[0], nil
	}
	return meeting.Participant{}, errors.New("several participants have that name")
}
