package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"standin/client"
)

// runCommand queues a bot command and prints its ID.
func (f jobFlags) runCommand(to terminal, verb func(*client.Client) (string, error)) error {
	api, err := f.client()
	if err != nil {
		return err
	}
	commandID, err := verb(api)
	if err != nil {
		return err
	}
	return f.print(to, map[string]string{"status": "queued", "commandId": commandID}, func() error {
		fmt.Fprintln(to.Err, "Command sent.")
		_, err := fmt.Fprintln(to.Out, commandID)
		return err
	})
}

// control queues a bot command without arguments.
func (f jobFlags) control(ctx context.Context, to terminal, verb client.Command) error {
	return f.runCommand(to, func(api *client.Client) (string, error) { return api.SendCommand(ctx, f.ID, verb) })
}

type (
	jobsAskCommand    struct{ jobFlags }
	jobsPauseCommand  struct{ jobFlags }
	jobsResumeCommand struct{ jobFlags }
	jobsStopCommand   struct{ jobFlags }
	jobsLeaveCommand  struct{ jobFlags }
)

// Run requests permission to record.
func (c *jobsAskCommand) Run(ctx context.Context, to terminal) error {
	return c.control(ctx, to, client.RequestRecordingPermission)
}

// Run pauses the recording.
func (c *jobsPauseCommand) Run(ctx context.Context, to terminal) error {
	return c.control(ctx, to, client.PauseRecording)
}

// Run resumes the recording.
func (c *jobsResumeCommand) Run(ctx context.Context, to terminal) error {
	return c.control(ctx, to, client.ResumeRecording)
}

// Run stops the recording.
func (c *jobsStopCommand) Run(ctx context.Context, to terminal) error {
	return c.control(ctx, to, client.StopRecording)
}

// Run makes the bot leave the meeting.
func (c *jobsLeaveCommand) Run(ctx context.Context, to terminal) error {
	return c.control(ctx, to, client.LeaveCall)
}

type jobsChatCommand struct {
	jobFlags
	Text string `arg:"" help:"Message text."`
}

// Run sends a chat message.
func (c *jobsChatCommand) Run(ctx context.Context, to terminal) error {
	return c.runCommand(to, func(api *client.Client) (string, error) { return api.SendChatMessage(ctx, c.ID, c.Text) })
}

type jobsPinCommand struct {
	jobFlags
	Participant string `arg:"" help:"ID of the participant, as in the manifest."`
}

// Run pins the participant.
func (c *jobsPinCommand) Run(ctx context.Context, to terminal) error {
	return c.runCommand(to, func(api *client.Client) (string, error) { return api.PinParticipant(ctx, c.ID, c.Participant) })
}

type jobsPlayAudioCommand struct {
	jobFlags
	Audio     string `arg:"" help:"URL of the audio file, or a file on this machine of up to about 750 kB."`
	Interrupt bool   `help:"Stop what the bot plays, and what waits, for this."`
}

// Run plays an audio file.
func (c *jobsPlayAudioCommand) Run(ctx context.Context, to terminal) error {
	audio := client.Audio{URI: c.Audio, Interrupt: c.Interrupt}
	if !strings.Contains(c.Audio, "://") {
		content, err := os.ReadFile(c.Audio)
		if err != nil {
			return fmt.Errorf("read the audio file: %w", err)
		}
		audio.URI, audio.Data = "", content
	}
	return c.runCommand(to, func(api *client.Client) (string, error) { return api.PlayAudio(ctx, c.ID, audio) })
}

type jobsSpeakCommand struct {
	jobFlags
	Text      string `arg:"" help:"Text to speak."`
	Voice     string `help:"Voice of the speech server. Default: the operator's."`
	Language  string `placeholder:"TAG" help:"Language of the text, such as en-US, for speech servers that take one."`
	Interrupt bool   `help:"Stop what the bot plays, and what waits, for this."`
}

// Run speaks a text.
func (c *jobsSpeakCommand) Run(ctx context.Context, to terminal) error {
	speech := client.SpokenText{Text: c.Text, Voice: c.Voice, Language: c.Language, Interrupt: c.Interrupt}
	return c.runCommand(to, func(api *client.Client) (string, error) { return api.Speak(ctx, c.ID, speech) })
}

type jobsStopOutputCommand struct{ jobFlags }

// Run stops the bot's output.
func (c *jobsStopOutputCommand) Run(ctx context.Context, to terminal) error {
	return c.control(ctx, to, client.StopOutput)
}
