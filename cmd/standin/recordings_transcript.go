package main

import (
	"context"
	"fmt"
	"io"

	"standin/client"
)

type recordingsTranscriptCommand struct {
	jobFlags
	Format string `enum:"text,vtt,json" default:"text" help:"Format: text, vtt or json."`
}

// Run prints the transcript.
func (c *recordingsTranscriptCommand) Run(ctx context.Context, to terminal, api *client.Client) error {
	format := c.Format
	if !c.isTable() {
		format = "json"
	}
	text, err := api.TranscriptText(ctx, c.ID, format)
	if client.Is(err, "not_found") {
		return explainMissing(ctx, api, c.ID, "transcript")
	}
	if err != nil {
		return err
	}
	defer text.Close()
	if _, err := io.Copy(to.Out, text); err != nil {
		return fmt.Errorf("read the transcript: %w", err)
	}
	return nil
}
