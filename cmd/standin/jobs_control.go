package main

import (
	"context"
	"fmt"

	"standin/client"
)

// queued runs a control verb and prints the command's id.
func (f jobFlags) queued(to terminal, verb func(*client.Client) (string, error)) error {
	api, err := f.client()
	if err != nil {
		return err
	}
	commandID, err := verb(api)
	if err != nil {
		return err
	}
	if f.JSON {
		return printJSON(to.out, map[string]string{"status": "queued", "commandId": commandID})
	}
	fmt.Fprintln(to.err, "queued; the bot is told at once")
	_, err = fmt.Fprintln(to.out, commandID)
	return err
}

func (f jobFlags) tell(ctx context.Context, to terminal, verb client.Command) error {
	return f.queued(to, func(api *client.Client) (string, error) { return api.SendCommand(ctx, f.ID, verb) })
}

type (
	jobsAskCommand    struct{ jobFlags }
	jobsPauseCommand  struct{ jobFlags }
	jobsResumeCommand struct{ jobFlags }
	jobsStopCommand   struct{ jobFlags }
	jobsLeaveCommand  struct{ jobFlags }
)

// Run asks for permission to record.
func (c *jobsAskCommand) Run(ctx context.Context, to terminal) error {
	return c.tell(ctx, to, client.RequestRecordingPermission)
}

// Run pauses the recording.
func (c *jobsPauseCommand) Run(ctx context.Context, to terminal) error {
	return c.tell(ctx, to, client.PauseRecording)
}

// Run goes on with it.
func (c *jobsResumeCommand) Run(ctx context.Context, to terminal) error {
	return c.tell(ctx, to, client.ResumeRecording)
}

// Run stops the recording.
func (c *jobsStopCommand) Run(ctx context.Context, to terminal) error {
	return c.tell(ctx, to, client.StopRecording)
}

// Run has the bot leave.
func (c *jobsLeaveCommand) Run(ctx context.Context, to terminal) error {
	return c.tell(ctx, to, client.LeaveCall)
}

type jobsChatCommand struct {
	jobFlags
	Text string `arg:"" help:"What to write."`
}

// Run has the bot write.
func (c *jobsChatCommand) Run(ctx context.Context, to terminal) error {
	return c.queued(to, func(api *client.Client) (string, error) { return api.SendChatMessage(ctx, c.ID, c.Text) })
}

type jobsPinCommand struct {
	jobFlags
	Participant string `arg:"" help:"The participant's id, as in the manifest."`
}

// Run has the bot pin.
func (c *jobsPinCommand) Run(ctx context.Context, to terminal) error {
	return c.queued(to, func(api *client.Client) (string, error) { return api.PinParticipant(ctx, c.ID, c.Participant) })
}
