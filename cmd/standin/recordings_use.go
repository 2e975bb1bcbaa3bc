package main

import (
	"cmp"
	"context"
	"errors"

	"standin/client"
)

type recordingsListCommand struct {
	apiFlags
	Limit int `default:"20" help:"Maximum number of recordings; 0 means all."`
}

// Run lists the jobs with a recording.
func (c *recordingsListCommand) Run(ctx context.Context, to terminal, api *client.Client) error {
	ended := client.JobFilter{Status: client.Completed + "," + client.Failed + "," + client.Cancelled}
	recorded := func(yield func(client.JobDetails, error) bool) {
		for found, err := range api.JobsWithDetails(ctx, ended) {
			if (err != nil || found.Recording != nil) && !yield(found, err) {
				return
			}
		}
	}
	return printList(c.outputFlags, to, "JOB|STARTED|LENGTH|MEETING", recorded, c.Limit, func(found client.JobDetails) []string {
		return []string{found.ID, to.maybe(found.StartedAt), clock(found.DurationSeconds), cmp.Or(deref(found.Title), found.MeetingURL)}
	})
}

type recordingsOpenCommand struct{ jobsOpenCommand }

type recordingsDeleteCommand struct {
	jobFlags
	Yes bool `help:"Confirm the deletion."`
}

// Run deletes the recording.
func (c *recordingsDeleteCommand) Run(ctx context.Context, to terminal, api *client.Client) error {
	if !c.Yes {
		return errors.New("the recording of " + oneLine(c.ID) +
			" would be deleted with all its files, which cannot be undone; confirm with --yes")
	}
	err := api.DeleteRecording(ctx, c.ID)
	return c.printLine(to, map[string]any{"jobId": c.ID, "deleted": true}, err, "deleted the recording of", c.ID)
}
