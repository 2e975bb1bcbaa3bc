package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"standin/client"
)

type jobsWatchCommand struct{ jobFlags }

// Run watches the job.
func (c *jobsWatchCommand) Run(ctx context.Context, to terminal, api *client.Client) error {
	return c.watch(ctx, to, api, c.ID)
}

// watch prints what happens to a job until the job ends, and then where its recording is.
func (f apiFlags) watch(ctx context.Context, to terminal, api *client.Client, id string) error {
	ticker := time.NewTicker(time.Second)
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
				switch { // entries follow each other: as lines, or as YAML documents
				case f.isTable():
					text := entry.EmittedAt.Local().Format("15:04:05") + "  " + eventText(entry)
					if entry.From != entry.To {
						text += "  (" + entry.To + ")"
					}
					err = to.println(oneLine(text))
				case f.isYAML():
					err = errors.Join(to.println("---"), printYAML(to.Out, entry))
				default:
					err = printJSONLine(to.Out, entry)
				}
				if err != nil {
					return err
				}
			}
		}
		switch current.Status {
		case client.Completed:
			if !f.isTable() {
				return nil
			}
			done, err := api.JobDetails(ctx, id)
			if err != nil {
				return err
			}
			if done.ManifestURI == nil || done.DurationSeconds == nil {
				fmt.Fprintf(to.Err, "Completed · %s\n", jobLink(api, id))
				return nil
			}
			fmt.Fprintf(to.Err, "Recorded %s · standin recordings download %s · %s\n", clock(done.DurationSeconds), id, jobLink(api, id))
			return nil
		case client.Failed, client.Cancelled:
			if current.FailureCode == nil {
				return &hint{code: exitJobFailed, error: errors.New("job " + current.Status)}
			}
			return &hint{
				code: exitJobFailed, error: fmt.Errorf("job failed (%s): %s", *current.FailureCode, oneLine(deref(current.FailureDetail))),
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}
