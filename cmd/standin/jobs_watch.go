package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"standin/client"
)

type jobsWatchCommand struct{ jobFlags }

// Run watches the job.
func (c *jobsWatchCommand) Run(ctx context.Context, to terminal) error {
	api, err := c.client()
	if err != nil {
		return err
	}
	return watch(ctx, to, api, c.ID, c.JSON)
}

// watchInterval is the polling interval of watch.
const watchInterval = time.Second

// watch prints the timeline of a job until the job ends, and then where its recording is.
func watch(ctx context.Context, to terminal, api *client.Client, id string, asJSON bool) error {
	ticker := time.NewTicker(watchInterval)
	defer ticker.Stop()
	printed := 0
	for {
		// Read the job before its timeline, so that the timeline is complete when
		// the job has ended.
		current, err := api.Job(ctx, id)
		if err != nil {
			return err
		}
		number := 0
		for entry, err := range api.Timeline(ctx, id) {
			if err != nil {
				return err
			}
			if number++; number > printed {
				printed = number
				if err := printEntry(to.Out, entry, asJSON); err != nil {
					return err
				}
			}
		}
		switch current.Status {
		case client.Completed:
			if current.ManifestURI != nil && !asJSON {
				fmt.Fprintf(to.Err, "The recording is complete. To play it, open %s/jobs/%s\nTo download it, run standin recordings download %s\n", api.BaseURL(), id, id)
			}
			return nil
		case client.Failed, client.Cancelled:
			detail := current.Status
			if current.FailureCode != nil {
				detail += " with " + *current.FailureCode + ": " + oneLine(deref(current.FailureDetail))
			}
			return &exitError{code: exitJobFailed, text: "the job is " + detail}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}

// printEntry prints a timeline entry.
func printEntry(w io.Writer, entry client.TimelineEntry, asJSON bool) error {
	if asJSON {
		return printJSONLine(w, entry)
	}
	text := entry.EmittedAt.Local().Format("15:04:05.000") + "  " + entry.Kind
	if entry.From != entry.To {
		text += "  " + entry.From + " → " + entry.To
	}
	if entry.Reason != nil {
		text += "  (not applied: " + *entry.Reason + ")"
	}
	_, err := fmt.Fprintln(w, oneLine(text))
	return err
}
