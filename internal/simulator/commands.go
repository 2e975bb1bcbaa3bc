package simulator

import (
	"context"

	"standin/internal/ingest"
	"standin/internal/job"
)

// obey acknowledges a command and does what it says, where that makes sense
// now; one that cannot be done is not sent for ever. Chatting and pinning leave
// no trace but the acknowledgement.
func (b *bot) obey(ctx context.Context, command ingest.Command) error {
	if err := b.acknowledge(ctx, command); err != nil {
		return err
	}
	inside := !b.admittedAt.IsZero()
	switch command.Kind {
	case ingest.LeaveCall:
		if !inside {
			return &ending{reason: reasonCommand, detail: "told to leave before it was admitted"}
		}
		return &ending{reason: reasonCommand, detail: "told to leave"}
	case ingest.RequestRecordingPermission:
		if inside {
			return b.ask(ctx, command.ID)
		}
	case ingest.PauseRecording:
		if b.tape.running {
			b.tape.pause(b.pace.now())
			return b.tell(ctx, job.BotRecordingPaused, nil)
		}
	case ingest.ResumeRecording:
		if !b.tape.pausedAt.IsZero() {
			return b.record(ctx)
		}
	case ingest.StopRecording:
		return b.stopRecording(ctx)
	}
	return nil
}

// record begins to record, or goes on after a pause.
func (b *bot) record(ctx context.Context) error {
	b.tape.begin(b.pace.now())
	return b.tell(ctx, job.BotRecordingStarted, nil)
}

// stopRecording ends the recording for good.
func (b *bot) stopRecording(ctx context.Context) error {
	if b.stopped || !b.tape.begun() {
		return nil
	}
	b.stopped = true
	b.tape.stop(b.pace.now())
	return b.tell(ctx, job.BotRecordingStopped, nil)
}

// ask asks the host for permission to record, by command or by itself, and
// tells the answer.
func (b *bot) ask(ctx context.Context, commandID string) error {
	command := map[string]any{}
	if commandID != "" {
		command["commandId"] = commandID
	}
	if err := b.tell(ctx, job.BotPermissionRequest, command); err != nil {
		return err
	}
	if err := b.pace.pass(ctx, hostTime, nil); err != nil {
		return err
	}
	command["granted"] = b.wish.answer == granted
	command["outcome"] = b.wish.answer
	command["detail"] = map[answer]string{
		granted: "The simulated host allowed the recording.",
		denied:  "The simulated host denied the recording.",
		timeout: "The simulated host did not answer.",
	}[b.wish.answer]
	return b.tell(ctx, job.BotPermissionResponse, command)
}
