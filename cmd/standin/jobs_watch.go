package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"standin/client"
)

type jobsWatchCommand struct{ jobFlags }

// Run follows the job.
func (c *jobsWatchCommand) Run(ctx context.Context, to terminal) error {
	api, err := c.client()
	if err != nil {
		return err
	}
	return watch(ctx, to, api, c.ID, c.JSON)
}

// watchEvery is how often a followed job is asked for.
const watchEvery = time.Second

// watch prints what happens to a job until it has ended.
func watch(ctx context.Context, to terminal, api *client.Client, id string, asJSON bool) error {
	again := time.NewTicker(watchEvery)
	defer again.Stop()
	told := 0
	for {
		// The job first: its end is then never told before what led to it.
		followed, err := api.Job(ctx, id)
		if err != nil {
			return err
		}
		number := 0
		for entry, err := range api.Timeline(ctx, id) {
			if err != nil {
				return err
			}
			if number++; number > told {
				told = number
				if err := tell(to.out, entry, asJSON); err != nil {
					return err
				}
			}
		}
		switch followed.Status {
		case client.Completed:
			return nil
		case client.Failed, client.Cancelled:
			detail := followed.Status
			if followed.FailureCode != nil {
				detail += " with " + *followed.FailureCode + ": " + oneLine(text(followed.FailureDetail))
			}
			return &exitError{code: exitJobFailed, text: "the job is " + detail}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-again.C:
		}
	}
}

// tell prints an entry of the timeline.
func tell(w io.Writer, entry client.TimelineEntry, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(w).Encode(entry)
	}
	line := entry.EmittedAt.Local().Format("15:04:05.000") + "  " + entry.Kind
	if entry.From != entry.To {
		line += "  " + entry.From + " → " + entry.To
	}
	if entry.Reason != nil {
		line += "  (not applied: " + *entry.Reason + ")"
	}
	_, err := fmt.Fprintln(w, oneLine(line))
	return err
}
