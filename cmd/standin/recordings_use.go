package main

import (
	"context"
	"errors"
	"fmt"

	"standin/client"
)

type recordingsListCommand struct {
	apiFlags
	Limit int `default:"20" help:"Maximum number of recordings; 0 means all."`
}

// Run lists the jobs with a recording.
func (c *recordingsListCommand) Run(ctx context.Context, to terminal) error {
	api, err := c.client()
	if err != nil {
		return err
	}
	listed := []client.JobDetails{}
	for found, err := range api.JobsWithDetails(ctx, client.JobFilter{Status: client.Completed + "," + client.Failed + "," + client.Cancelled}) {
		if err != nil {
			return err
		}
		if found.Recording == nil {
			continue
		}
		if listed = append(listed, found); c.Limit > 0 && len(listed) == c.Limit {
			break
		}
	}
	return c.print(to, listed, func() error {
		rows := make([][]string, len(listed))
		for i, one := range listed {
			length, title := "", deref(one.Title)
			if one.DurationSeconds != nil {
				length = clock(*one.DurationSeconds)
			}
			if title == "" {
				title = one.MeetingURL
			}
			rows[i] = []string{one.ID, to.maybe(one.StartedAt), length, title}
		}
		return to.table("JOB|STARTED|LENGTH|MEETING", rows)
	})
}

type recordingsOpenCommand struct{ jobsOpenCommand }

type recordingsDeleteCommand struct {
	jobFlags
	Yes bool `help:"Confirm the deletion."`
}

// Run deletes the recording.
func (c *recordingsDeleteCommand) Run(ctx context.Context, to terminal) error {
	if !c.Yes {
		return errors.New("the recording of " + oneLine(c.ID) + " would be deleted with all its files, which cannot be undone; confirm with --yes")
	}
	api, err := c.client()
	if err != nil {
		return err
	}
	if err := api.DeleteRecording(ctx, c.ID); err != nil {
		return err
	}
	return c.print(to, map[string]any{"jobId": c.ID, "deleted": true}, func() error {
		_, err := fmt.Fprintln(to.Out, "deleted the recording of", c.ID)
		return err
	})
}
