package bot

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"standin/internal/bot/meeting"
	"standin/internal/ingest"
)

// order takes in a command, at any time of a visit. It is acknowledged at once:
// one that cannot be done is not sent for ever.
func (v *visit) order(ctx context.Context, command ingest.Command) (ending, bool) {
	if v.phase != inside {
		return v.postpone(command)
	}
	v.channel.Ack(command.ID)
	return v.obey(ctx, command)
}

// postpone takes in a command for a bot that is not in the meeting: leaving is
// all that can be done there, and the rest is kept until it is let in.
func (b *bot) postpone(command ingest.Command) (ending, bool) {
	b.channel.Ack(command.ID)
	if command.Kind == ingest.LeaveCall {
		return ending{reason: reasonCommand, detail: "told to leave before it was let in"}, true
	}
	b.Log.Info("a command waits until the bot is in the meeting", "command", command.ID, "kind", command.Kind)
	b.postponed = append(b.postponed, command)
	return ending{}, false
}

// obey does what a command says to a bot that is in the meeting.
func (v *visit) obey(ctx context.Context, command ingest.Command) (ending, bool) {
	switch command.Kind {
	case ingest.LeaveCall:
		return ending{reason: reasonCommand, detail: "told to leave"}, true
	case ingest.RequestRecordingPermission:
		v.requestPermission(ctx, command.ID)
	case ingest.PauseRecording:
		v.pause(ctx, command)
	case ingest.ResumeRecording:
		v.resume(ctx, command)
	case ingest.StopRecording:
		v.stopRecording(ctx, command)
	case ingest.SendChatMessage:
		v.onPage(ctx, command, func(ctx context.Context) error {
			var args struct{ Text string }
			if err := json.Unmarshal(command.Args, &args); err != nil {
				return fmt.Errorf("read the command: %w", err)
			}
			return v.adapter.SendChat(ctx, v.page, args.Text)
		})
	case ingest.PinParticipant:
		v.pin(ctx, command)
	default:
		v.obeyed(command, errors.New("this version of the bot cannot do it"))
	}
	return ending{}, false
}

// obeyed logs what became of a command.
func (v *visit) obeyed(command ingest.Command, err error) {
	v.Log.Info("command", "command", command.ID, "kind", command.Kind, "error", err)
}

// onPage does what a command says on the meeting's page.
func (v *visit) onPage(ctx context.Context, command ingest.Command, do func(context.Context) error) {
	v.hands.add(ctx, errand{
		name: string(command.Kind), patience: v.Timeouts.Command, command: &command, do: do,
		then: func(_ context.Context, err error) (ending, bool) {
			v.obeyed(command, err)
			return ending{}, false
		},
	})
}

// pin gives a participant the large picture.
func (v *visit) pin(ctx context.Context, command ingest.Command) {
	var wanted struct{ ParticipantID, Name string }
	err := json.Unmarshal(command.Args, &wanted)
	var whom meeting.Participant
	if err == nil {
		whom, err = findParticipant(v.last.Participants, wanted.ParticipantID, cmp.Or(wanted.Name, v.report.nameOf(wanted.ParticipantID)))
	}
	if err != nil {
		v.obeyed(command, err)
		return
	}
	v.onPage(ctx, command, func(ctx context.Context) error { return v.adapter.Pin(ctx, v.page, whom) })
}

// findParticipant finds somebody in sight by the roster's id, which is the
// manifest's too, or else by name: ids may change when the bot comes back.
func findParticipant(participants []meeting.Participant, id, name string) (meeting.Participant, error) {
	for _, one := range participants {
		if id != "" && one.ID == id {
			return one, nil
		}
	}
	var found []meeting.Participant
	for _, one := range participants {
		if name != "" && strings.EqualFold(one.Name, name) {
			found = append(found, one)
		}
	}
	switch len(found) {
	case 0:
		return meeting.Participant{}, errors.New("no such participant is in sight")
	case 1:
		return found[0], nil
	}
	return meeting.Participant{}, errors.New("several participants have that name")
}
