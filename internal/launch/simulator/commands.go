package simulator

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
	"standin/internal/recording"
)

// perform performs a command, or returns why that is not possible now. A chat message
// has no effect.
func (b *bot) perform(ctx context.Context, command ingest.Command) (failure string, err error) {
	inside := !b.admittedAt.IsZero()
	switch command.Kind {
	case ingest.LeaveCall:
		if !inside {
			return "", &exitResult{reason: reasonCommand, detail: "left on command before it was admitted"}
		}
		return "", &exitResult{reason: reasonCommand, detail: "left on command"}
	case ingest.PauseRecording:
		if !b.timeline.running {
			return "nothing is being recorded", nil
		}
		b.timeline.pausedAt = b.clock.now()
		b.timeline.end(b.timeline.pausedAt, recording.GapPaused)
		return "", b.emit(ctx, job.BotRecordingPaused, nil)
	case ingest.ResumeRecording:
		if b.timeline.pausedAt.IsZero() {
			return "no recording is paused", nil
		}
		return "", b.startRecording(ctx)
	case ingest.StopRecording:
		if b.stopped || !b.timeline.started() {
			return "nothing is being recorded", nil
		}
		return "", b.stopRecording(ctx)
	}
	if !inside {
		return "the bot is not in the meeting", nil
	}
	switch command.Kind {
	case ingest.RequestRecordingPermission:
		return "", b.requestPermission(ctx, command.ID)
	case ingest.PlayAudio, ingest.Speak:
		data := ingest.EventData{CommandID: command.ID, Command: string(command.Kind)}
		if err := b.emit(ctx, job.BotOutputStarted, data); err != nil {
			return "", err
		}
		if b.options.failsOutput {
			data.Reason, data.Detail = string(ingest.DeviceRefused), "The simulated page did not turn the microphone on."
			return data.Detail, b.emit(ctx, job.BotOutputFailed, data)
		}
		return "", b.emit(ctx, job.BotOutputFinished, data)
	case ingest.SetCamera, ingest.ShareScreen:
		if err := b.hide(ctx, command.Kind); err != nil {
			return "", err
		}
		var args ingest.PictureArgs
		_ = json.Unmarshal(command.Args, &args) // the service has checked them
		if args.Show != ingest.ShowNone {
			b.shown[command.Kind] = ingest.EventData{CommandID: command.ID, Command: string(command.Kind)}
			return "", b.emit(ctx, job.BotOutputStarted, b.shown[command.Kind])
		}
	case ingest.PinParticipant:
		var args struct{ ParticipantID string }
		_ = json.Unmarshal(command.Args, &args) // without an ID nobody is found
		if !slices.ContainsFunc(people(b.admittedAt, b.leftAt), func(p ingest.Person) bool { return p.ID == args.ParticipantID }) {
			return "no such participant is in the meeting", nil
		}
	}
	return "", nil
}

// hide reports the end of a picture, if one is shown.
func (b *bot) hide(ctx context.Context, kind ingest.CommandKind) error {
	data, ok := b.shown[kind]
	if !ok {
		return nil
	}
	delete(b.shown, kind)
	return b.emit(ctx, job.BotOutputFinished, data)
}

// startRecording starts or resumes the recording.
func (b *bot) startRecording(ctx context.Context) error {
	b.timeline.parts = append(b.timeline.parts, ingest.RecordingPart{
		Number: len(b.timeline.parts), StartedAt: b.clock.now(), Segments: 1,
	})
	b.timeline.running, b.timeline.pausedAt = true, time.Time{}
	return b.emit(ctx, job.BotRecordingStarted, nil)
}

// stopRecording ends the recording permanently, and the pause if it is paused.
func (b *bot) stopRecording(ctx context.Context) error {
	if b.stopped || !b.timeline.started() {
		return nil
	}
	b.stopped = true
	t, now := &b.timeline, b.clock.now()
	if !t.pausedAt.IsZero() {
		t.gaps = append(t.gaps, ingest.Gap{From: t.pausedAt, To: now, Reason: recording.GapPaused})
		t.pausedAt = time.Time{}
	}
	if t.running {
		t.end(now, "")
	}
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
