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

// watchInterval is the polling interval of watch.
const watchInterval = time.Second

// watch prints what happens to a job until the job ends, and then where its recording is.
func (f apiFlags) watch(ctx context.Context, to terminal, api *client.Client, id string) error {
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
				if err := f.printOne(to, entry, func() error {
					text := entry.EmittedAt.Local().Format("15:04:05") + "  " + eventText(entry)
					if entry.From != entry.To {
						text += "  (" + entry.To + ")"
					}
					return to.println(oneLine(text))
				}); err != nil {
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
