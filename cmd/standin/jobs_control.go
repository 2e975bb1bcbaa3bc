package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/alecthomas/kong"

	"standin/client"
)

// printCommand prints the ID of a queued bot command, unless queuing it failed.
func (f jobFlags) printCommand(to terminal, commandID string, err error) error {
	return f.print(to, map[string]string{"status": "queued", "commandId": commandID}, err, func() error {
		fmt.Fprintln(to.Err, "Command sent.")
		return to.println(commandID)
	})
}

// botCommands are the bot commands without arguments, by the command that queues them.
var botCommands = map[string]client.Command{
	"ask": client.RequestRecordingPermission, "pause": client.PauseRecording, "resume": client.ResumeRecording, "stop": client.StopRecording,
	"leave": client.LeaveCall, "stop-output": client.StopOutput,
}

type jobsControlCommand struct{ jobFlags }

// Run queues the bot command.
func (c *jobsControlCommand) Run(ctx context.Context, parsed *kong.Context, to terminal, api *client.Client) error {
	id, err := api.SendCommand(ctx, c.ID, botCommands[parsed.Selected().Name])
	return c.printCommand(to, id, err)
}

type jobsChatCommand struct {
	jobFlags
	Text string `arg:"" help:"Message text."`
}

// Run sends a chat message.
func (c *jobsChatCommand) Run(ctx context.Context, to terminal, api *client.Client) error {
	id, err := api.SendChatMessage(ctx, c.ID, c.Text)
	return c.printCommand(to, id, err)
}

type jobsPinCommand struct {
	jobFlags
	Participant string `arg:"" help:"ID of the participant, as in the manifest."`
}

// Run pins the participant.
func (c *jobsPinCommand) Run(ctx context.Context, to terminal, api *client.Client) error {
	id, err := api.PinParticipant(ctx, c.ID, c.Participant)
	return c.printCommand(to, id, err)
}

type jobsPlayAudioCommand struct {
	jobFlags
	Audio     string `arg:"" help:"URL of the audio file, or a file on this machine of up to about 750 kB."`
	Interrupt bool   `help:"Stop the current sound and discard the queued ones first."`
}

// Run plays an audio file.
func (c *jobsPlayAudioCommand) Run(ctx context.Context, to terminal, api *client.Client) error {
	file, err := outputFile(c.Audio)
	if err != nil {
		return err
	}
	id, err := api.PlayAudio(ctx, c.ID, client.Audio{URI: file.URI, Data: file.Data, Interrupt: c.Interrupt})
	return c.printCommand(to, id, err)
}

type jobsSpeakCommand struct {
	jobFlags
	Text      string `arg:"" help:"Text to speak."`
	Voice     string `help:"Voice of the speech server. Default: the operator's."`
	Language  string `placeholder:"TAG" help:"Language of the text, such as en-US, for speech servers that take one."`
	Interrupt bool   `help:"Stop the current sound and discard the queued ones first."`
}

// Run speaks a text.
func (c *jobsSpeakCommand) Run(ctx context.Context, to terminal, api *client.Client) error {
	id, err := api.Speak(ctx, c.ID, client.SpokenText{Text: c.Text, Voice: c.Voice, Language: c.Language, Interrupt: c.Interrupt})
	return c.printCommand(to, id, err)
}

// outputFile returns a file by its URL or, from this machine, with its content.
func outputFile(name string) (*client.File, error) {
	if strings.Contains(name, "://") {
		return &client.File{URI: name}, nil
	}
	content, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read the file: %w", err)
	}
	return &client.File{Data: content}, nil
}

// pictureFlags choose a picture, or none.
type pictureFlags struct {
	Image string `xor:"picture" required:"" placeholder:"FILE" help:"Image to show: a URL, or a file on this machine of up to about 750 kB."`
	Page  string `xor:"picture" required:"" placeholder:"URL" help:"Web page to show."`
	Off   bool   `xor:"picture" required:"" help:"Turn the camera off, or end the screen share."`
}

// picture returns the picture that the flags choose.
func (f pictureFlags) picture() (picture client.Picture, err error) {
	switch {
	case f.Image != "":
		picture.Image, err = outputFile(f.Image)
	case f.Page != "":
		picture.Page = &client.WebPage{URI: f.Page}
	default:
		picture.None = f.Off
	}
	return picture, err
}

type jobsCameraCommand struct {
	jobFlags
	pictureFlags
	Video string `xor:"picture" required:"" placeholder:"FILE" help:"Video to show once, without sound: a URL, or a file on this machine of up to about 750 kB."`
}

// Run shows a picture as the bot's camera.
func (c *jobsCameraCommand) Run(ctx context.Context, to terminal, api *client.Client) error {
	picture, err := c.picture()
	if c.Video != "" {
		picture.Video, err = outputFile(c.Video)
	}
	if err != nil {
		return err
	}
	id, err := api.SetCamera(ctx, c.ID, picture)
	return c.printCommand(to, id, err)
}

type jobsShareScreenCommand struct {
	jobFlags
	pictureFlags
}

// Run shares a picture as the bot's screen.
func (c *jobsShareScreenCommand) Run(ctx context.Context, to terminal, api *client.Client) error {
	picture, err := c.picture()
	if err != nil {
		return err
	}
	id, err := api.ShareScreen(ctx, c.ID, picture)
	return c.printCommand(to, id, err)
}
