package simulator

import (
	"context"

	"standin/internal/ingest"
	"standin/internal/job"
)

// execute acknowledges a command and executes it, if it can be executed now.
// Chat messages and pins have no other effect.
func (b *bot) execute(ctx context.Context, command ingest.Command) error {
	if err := b.acknowledge(ctx, command); err != nil {
		return err
	}
	inside := !b.admittedAt.IsZero()
	switch command.Kind {
	case ingest.LeaveCall:
		if !inside {
			return &exitResult{reason: reasonCommand, detail: "left on command before it was admitted"}
		}
		return &exitResult{reason: reasonCommand, detail: "left on command"}
	case ingest.RequestRecordingPermission:
		if inside {
			return b.requestPermission(ctx, command.ID)
		}
	case ingest.PauseRecording:
		if b.timeline.running {
			b.timeline.pause(b.clock.now())
			return b.emit(ctx, job.BotRecordingPaused, nil)
		}
	case ingest.ResumeRecording:
		if !b.timeline.pausedAt.IsZero() {
			return b.startRecording(ctx)
		}
	case ingest.StopRecording:
		return b.stopRecording(ctx)
	}
	return nil
}

// startRecording starts or resumes the recording.
func (b *bot) startRecording(ctx context.Context) error {
	b.timeline.start(b.clock.now())
	return b.emit(ctx, job.BotRecordingStarted, nil)
}

// stopRecording ends the recording permanently.
func (b *bot) stopRecording(ctx context.Context) error {
	if b.stopped || !b.timeline.started() {
		return nil
	}
	b.stopped = true
	b.timeline.stop(b.clock.now())
	return b.emit(ctx, job.BotRecordingStopped, nil)
}

// requestPermission asks the host for permission to record, by command or by
// itself, and reports the answer.
func (b *bot) requestPermission(ctx context.Context, commandID string) error {
	command := map[string]any{}
	if commandID != "" {
		command["commandId"] = commandID
	}
	if err := b.emit(ctx, job.BotPermissionRequest, command); err != nil {
		return err
	}
	if err := b.clock.wait(ctx, permissionDelay, nil); err != nil {
		return err
	}
	command["granted"] = b.options.permission == granted
	command["outcome"] = b.options.permission
	command["detail"] = map[permission]string{
		granted: "The simulated host allowed the recording.",
		denied:  "The simulated host denied the recording.",
		timeout: "The simulated host did not answer.",
	}[b.options.permission]
	return b.emit(ctx, job.BotPermissionResponse, command)
}
