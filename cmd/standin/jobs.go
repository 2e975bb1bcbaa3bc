package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/google/uuid"

	"standin/client"
)

type jobsCommand struct {
	Create jobsCreateCommand `cmd:"" help:"Send a bot into a meeting."`
	Get    jobsGetCommand    `cmd:"" help:"Show a job."`
	List   jobsListCommand   `cmd:"" help:"List jobs, newest first."`
	Watch  jobsWatchCommand  `cmd:"" help:"Follow a job to its end. Exit code 3 when it fails or is cancelled."`
	Patch  jobsPatchCommand  `cmd:"" help:"Change a job that is not yet dispatched."`
	Cancel jobsCancelCommand `cmd:"" help:"Cancel a job; a bot in its meeting leaves."`
	Ask    jobsAskCommand    `cmd:"" help:"Ask the meeting's host for permission to record."`
	Pause  jobsPauseCommand  `cmd:"" help:"Pause the recording."`
	Resume jobsResumeCommand `cmd:"" help:"Go on with a paused recording."`
	Stop   jobsStopCommand   `cmd:"" help:"Stop the recording; the bot stays in the meeting."`
	Leave  jobsLeaveCommand  `cmd:"" help:"Have the bot leave the meeting."`
	Chat   jobsChatCommand   `cmd:"" help:"Have the bot write into the meeting's chat."`
	Pin    jobsPinCommand    `cmd:"" help:"Have the bot give a participant the large picture."`
}

// jobFlags are those of commands about one job.
type jobFlags struct {
	apiFlags
	ID string `arg:"" help:"The job's id."`
}

type jobsCreateCommand struct {
	apiFlags
	MeetingURL string    `arg:"" help:"The meeting's address."`
	ExternalID string    `help:"Your own name for the job; doing it again with the same one sends no second bot. Default: a random one."`
	Platform   string    `enum:",meet,teams,zoom-web,zoom-sdk" default:"" help:"Default: told from the address."`
	JoinAt     time.Time `placeholder:"2026-11-20T14:00:00+01:00" help:"When to join. Default: now."`
	Name       string    `help:"Name shown to other participants."`
	Webhook    string    `placeholder:"https://…" help:"Where all of the job's events are posted."`
	Metadata   string    `placeholder:"JSON" help:"An object that is echoed in the job and in webhooks."`
	AutoLeave  string    `placeholder:"JSON" help:"An object with single autoLeave knobs."`
	Watch      bool      `help:"Follow the job to its end."`
}

// Run makes the job.
func (c *jobsCreateCommand) Run(ctx context.Context, to terminal) error {
	api, err := c.client()
	if err != nil {
		return err
	}
	wish := client.NewJob{ExternalID: c.ExternalID, MeetingURL: c.MeetingURL, Platform: c.Platform, DisplayName: c.Name}
	if wish.ExternalID == "" {
		wish.ExternalID = "cli-" + uuid.NewString()
	}
	if !c.JoinAt.IsZero() {
		wish.JoinAt = &c.JoinAt
	}
	if c.Webhook != "" {
		wish.Webhooks = &client.Webhooks{OnStatusChange: c.Webhook, OnFinalize: c.Webhook}
	}
	if c.Metadata != "" {
		if !json.Valid([]byte(c.Metadata)) {
			return fmt.Errorf("--metadata is no JSON: %s", c.Metadata)
		}
		wish.Metadata = json.RawMessage(c.Metadata)
	}
	if wish.AutoLeave, err = autoLeavePatch(c.AutoLeave); err != nil {
		return err
	}
	made, replayed, err := api.CreateJob(ctx, wish)
	if err != nil {
		return err
	}
	if replayed {
		fmt.Fprintln(to.err, "a job with this externalId exists already; here it is")
	}
	if err := showJob(to.out, made, c.JSON); err != nil || !c.Watch {
		return err
	}
	return watch(ctx, to, api, made.ID, c.JSON)
}

// autoLeavePatch reads single knobs; none when the text is empty.
func autoLeavePatch(text string) (*client.AutoLeavePatch, error) {
	if text == "" {
		return nil, nil
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	knobs := new(client.AutoLeavePatch)
	if err := decoder.Decode(knobs); err != nil {
		return nil, fmt.Errorf("read --auto-leave: %w", err)
	}
	return knobs, nil
}

// showJob prints a job.
func showJob(w io.Writer, shown client.Job, asJSON bool) error {
	if asJSON {
		return printJSON(w, shown)
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(table, "%s\t%s\n", name, oneLine(value))
		}
	}
	row("id", shown.ID)
	row("externalId", shown.ExternalID)
	row("status", shown.Status)
	row("meeting", shown.MeetingURL)
	row("platform", shown.Platform)
	row("join at", moment(&shown.JoinAt))
	row("attempts", fmt.Sprint(shown.Attempts))
	row("started", moment(shown.StartedAt))
	row("finalized", moment(shown.FinalizedAt))
	row("manifest", text(shown.ManifestURI))
	row("failure", text(shown.FailureCode))
	row("", text(shown.FailureDetail))
	return table.Flush()
}

// oneLine keeps what others wrote from moving the cursor of a terminal.
func oneLine(value string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return ' '
		}
		return r
	}, value)
}

func moment(at *time.Time) string {
	if at == nil {
		return ""
	}
	return at.Local().Format("2006-01-02 15:04:05 MST")
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

type jobsGetCommand struct{ jobFlags }

// Run shows the job.
func (c *jobsGetCommand) Run(ctx context.Context, to terminal) error {
	api, err := c.client()
	if err != nil {
		return err
	}
	found, err := api.Job(ctx, c.ID)
	if err != nil {
		return err
	}
	return showJob(to.out, found, c.JSON)
}

type jobsListCommand struct {
	apiFlags
	Status     string `help:"Only jobs that stand there."`
	Platform   string `help:"Only jobs of that platform."`
	ExternalID string `help:"Only the job with that externalId."`
	Limit      int    `default:"20" help:"How many; 0 is all."`
}

// Run lists the jobs.
func (c *jobsListCommand) Run(ctx context.Context, to terminal) error {
	api, err := c.client()
	if err != nil {
		return err
	}
	listed := []client.Job{}
	for found, err := range api.Jobs(ctx, client.JobFilter{Status: c.Status, Platform: c.Platform, ExternalID: c.ExternalID}) {
		if err != nil {
			return err
		}
		if listed = append(listed, found); c.Limit > 0 && len(listed) == c.Limit {
			break
		}
	}
	if c.JSON {
		return printJSON(to.out, listed)
	}
	table := tabwriter.NewWriter(to.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tSTATUS\tPLATFORM\tJOIN AT\tEXTERNAL ID\tFAILURE")
	for _, found := range listed {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", found.ID, found.Status, found.Platform, moment(&found.JoinAt), oneLine(found.ExternalID), text(found.FailureCode))
	}
	return table.Flush()
}

type jobsPatchCommand struct {
	jobFlags
	JoinAt    time.Time `placeholder:"2026-11-20T14:00:00+01:00" help:"When to join."`
	Name      *string   `help:"Name shown to other participants."`
	Metadata  string    `placeholder:"JSON" help:"Takes the place of the job's as a whole."`
	AutoLeave string    `placeholder:"JSON" help:"An object with single autoLeave knobs."`
}

// Run changes the job.
func (c *jobsPatchCommand) Run(ctx context.Context, to terminal) error {
	api, err := c.client()
	if err != nil {
		return err
	}
	patch := client.JobPatch{DisplayName: c.Name}
	if !c.JoinAt.IsZero() {
		patch.JoinAt = &c.JoinAt
	}
	if c.Metadata != "" {
		if !json.Valid([]byte(c.Metadata)) {
			return fmt.Errorf("--metadata is no JSON: %s", c.Metadata)
		}
		patch.Metadata = json.RawMessage(c.Metadata)
	}
	if patch.AutoLeave, err = autoLeavePatch(c.AutoLeave); err != nil {
		return err
	}
	changed, err := api.PatchJob(ctx, c.ID, patch)
	if err != nil {
		return err
	}
	return showJob(to.out, changed, c.JSON)
}

type jobsCancelCommand struct{ jobFlags }

// Run cancels the job.
func (c *jobsCancelCommand) Run(ctx context.Context, to terminal) error {
	api, err := c.client()
	if err != nil {
		return err
	}
	if err := api.CancelJob(ctx, c.ID); err != nil {
		return err
	}
	cancelled, err := api.Job(ctx, c.ID)
	if err != nil {
		return err
	}
	return showJob(to.out, cancelled, c.JSON)
}
