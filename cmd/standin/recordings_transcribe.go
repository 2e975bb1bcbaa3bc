package main

import (
	"context"
	"fmt"

	"standin/client"
)

type recordingsTranscribeCommand struct {
	jobFlags
	Model    string   `help:"Model of the transcriber. Default: that of the service."`
	Language string   `placeholder:"TAG" help:"Language that is spoken, such as de. Default: that of the job."`
	Keyterm  []string `placeholder:"TEXT" sep:"none" help:"Word or name that is likely to be said. Can be given up to 100 times."`
}

// Run queues the transcription.
func (c *recordingsTranscribeCommand) Run(ctx context.Context, to terminal, api *client.Client) error {
	if err := api.TranscribeAgain(ctx, c.ID, client.TranscriptionOptions{
		Model: c.Model, Language: c.Language, Keyterms: c.Keyterm,
	}); err != nil {
		return err
	}
	fmt.Fprintln(to.Out, "The transcription is queued.")
	return nil
}
