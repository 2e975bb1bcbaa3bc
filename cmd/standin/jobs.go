package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"standin/client"
	"standin/internal/base/text"
	"standin/internal/jobs/job"
	"standin/internal/server/dashboard"
)

type jobsCommand struct {
	Create      jobsCreateCommand      `cmd:"" help:"Create a job, which sends a bot into a meeting."`
	Rerun       jobsRerunCommand       `cmd:"" help:"Create a job with the settings of another one."`
	List        jobsListCommand        `cmd:"" help:"List jobs, newest first."`
	Get         jobsGetCommand         `cmd:"" help:"Show a job."`
	Open        jobsOpenCommand        `cmd:"" help:"Open a job in the dashboard."`
	Watch       jobsWatchCommand       `cmd:"" help:"Watch a job until it ends. Exit code 3 if it fails or is cancelled."`
	Listen      jobsListenCommand      `cmd:"" help:"Write the sound of a meeting to standard output while the bot records."`
	Events      jobsEventsCommand      `cmd:"" help:"List what happened to a job."`
	Deliveries  jobsDeliveriesCommand  `cmd:"" help:"List the webhooks of a job."`
	Patch       jobsPatchCommand       `cmd:"" help:"Change a job that is not dispatched yet."`
	Cancel      jobsCancelCommand      `cmd:"" help:"Cancel a job. A bot that is in the meeting leaves."`
	Ask         jobsControlCommand     `cmd:"" help:"Ask the meeting host for permission to record."`
	Pause       jobsControlCommand     `cmd:"" help:"Pause the recording."`
	Resume      jobsControlCommand     `cmd:"" help:"Resume a paused recording."`
	Stop        jobsControlCommand     `cmd:"" help:"Stop the recording; the bot stays in the meeting."`
	Leave       jobsControlCommand     `cmd:"" help:"Make the bot leave the meeting."`
	Chat        jobsChatCommand        `cmd:"" help:"Send a message to the meeting chat."`
	Pin         jobsPinCommand         `cmd:"" help:"Pin a participant so that their video fills the recording."`
	PlayAudio   jobsPlayAudioCommand   `cmd:"" help:"Play an audio file in the meeting."`
	Speak       jobsSpeakCommand       `cmd:"" help:"Speak a text in the meeting."`
	StopOutput  jobsControlCommand     `cmd:"" help:"Stop the current sound and discard the queued ones."`
	Camera      jobsCameraCommand      `cmd:"" help:"Show a picture as the bot's camera."`
	ShareScreen jobsShareScreenCommand `cmd:"" help:"Share a picture as the bot's screen."`
}

// jobFlags are the flags of commands for one job.
type jobFlags struct {
	apiFlags
	ID string `arg:"" predictor:"job" help:"ID of the job, as jobs list shows it, or its external ID."`
}

const (
	shortID     = 8 // characters at the end of an ID that lists show, because IDs begin with the time
	longestCell = 32
)

// ProvideClient returns the client, and replaces a short or an external ID with the ID of the job.
func (f *jobFlags) ProvideClient(ctx context.Context) (*client.Client, error) {
	api, err := f.apiFlags.ProvideClient()
	if err != nil || f.ID == "" || uuid.Validate(f.ID) == nil {
		return api, err
	}
	var filter client.JobFilter
	if len(f.ID) != shortID {
		filter.ExternalID = f.ID
	}
	found, err := collect(api.Jobs(ctx, filter), 1000) // the newest, for a short ID
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(other client.Job) bool { return other.ExternalID != f.ID && !strings.HasSuffix(other.ID, f.ID) })
	if len(found) != 1 {
		return nil, &hint{
			fmt.Errorf("%q is not the ID or the external ID of one job", f.ID), exitNotFound, "Run standin jobs list to see your jobs.",
		}
	}
	f.ID = found[0].ID
	return api, nil
}

// jobLink returns the page of a job in the dashboard.
func jobLink(api *client.Client, id string) string { return api.BaseURL() + "/jobs/" + id }

// printJob prints a job, unless reading it failed. Its details may be those of a job only.
func (f outputFlags) printJob(to terminal, api *client.Client, shown client.JobDetails, err error) error {
	attempts, title := "", ""
	if shown.Title != nil || shown.DisplayName != "" { // it has the details
		title = job.NameOf(deref(shown.Title), shown.ExternalID, job.Platform(shown.Platform), shown.MeetingURL)
	}
	if shown.Attempts > 1 {
		attempts = strconv.Itoa(shown.Attempts)
	}
	var people []string
	for _, person := range shown.Participants {
		people = append(people, person.Name)
	}
	return f.print(to, shown, err, func() error {
		return to.properties([][2]string{
			{"id", shown.ID},
			{"externalId", shown.ExternalID},
			{"status", shown.Status},
			{"title", title},
			{"meeting", shown.MeetingURL},
			{"platform", shown.Platform},
			{"joins", to.time(shown.JoinAt)},
			{"sources", strings.Join(shown.Sources, ", ")},
			{"attempts", attempts},
			{"started", to.maybe(shown.StartedAt)},
			{"ended", to.maybe(shown.EndedAt)},
			{"recorded", clock(shown.DurationSeconds)},
			{"participants", strings.Join(people, ", ")},
			{"manifest", deref(shown.ManifestURI)},
			{"failure", deref(shown.FailureCode)},
			{"reason", deref(shown.FailureDetail)},
			{"next step", deref(shown.Outcome.Action)},
			{"page", jobLink(api, shown.ID)},
		}...)
	})
}

// clock formats a length as minutes and seconds, or as hours, minutes and seconds; empty for nil.
func clock(seconds *float64) string {
	if seconds == nil {
		return ""
	}
	return dashboard.Clock(int64(math.Round(*seconds)) * 1000)
}

type jobsGetCommand struct{ jobFlags }

// Run shows the job.
func (c *jobsGetCommand) Run(ctx context.Context, to terminal, api *client.Client) error {
	found, err := api.JobDetails(ctx, c.ID)
	return c.printJob(to, api, found, err)
}

type jobsOpenCommand struct{ jobFlags }

// Run opens the page of the job and prints its URL.
func (c *jobsOpenCommand) Run(ctx context.Context, to terminal, api *client.Client) error {
	found, err := api.Job(ctx, c.ID)
	if err != nil {
		return err
	}
	link := jobLink(api, found.ID)
	openBrowser(link)
	return c.printLine(to, map[string]string{"url": link}, nil, link)
}

type jobsListCommand struct {
	apiFlags
	Status     string    `predictor:"status" help:"Only jobs with this status, or with one of several, separated by commas."`
	Platform   string    `predictor:"platform" help:"Only jobs of this platform."`
	ExternalID string    `help:"Only the job with this externalId."`
	From       time.Time `placeholder:"TIME" help:"Only jobs that join at this time or later."`
	To         time.Time `placeholder:"TIME" help:"Only jobs that join before this time."`
	Limit      int       `default:"20" help:"Maximum number of jobs; 0 means all."`
}

// Run lists the jobs.
func (c *jobsListCommand) Run(ctx context.Context, to terminal, api *client.Client) error {
	filter := client.JobFilter{Status: c.Status, Platform: c.Platform, ExternalID: c.ExternalID, JoinFrom: c.From, JoinTo: c.To}
	return printList(c.outputFlags, to, "ID|TITLE|STATUS|OUTCOME|JOINS|EXTERNAL ID", api.JobsWithDetails(ctx, filter), c.Limit,
		func(found client.JobDetails) []string {
			platform := map[string]string{"meet": "Google Meet", "teams": "Microsoft Teams"}[found.Platform]
			address, _, _ := strings.Cut(found.MeetingURL, "?")
			code := strings.TrimSuffix(cmp.Or(platform, "Zoom")+" "+path.Base(address), " 0") // the long links of Teams end with /0
			return []string{
				found.ID[max(0, len(found.ID)-shortID):], text.Cut(cmp.Or(deref(found.Title), code), longestCell), found.Status, found.Outcome.Title,
				to.time(found.JoinAt), text.Cut(found.ExternalID, longestCell),
			}
		})
}

type jobsEventsCommand struct{ jobFlags }

// Run lists the timeline.
func (c *jobsEventsCommand) Run(ctx context.Context, to terminal, api *client.Client) error {
	return printList(c.outputFlags, to, "WHEN|EVENT|STATUS|ATTEMPT", api.Timeline(ctx, c.ID), 0, func(entry client.TimelineEntry) []string {
		return []string{to.time(entry.EmittedAt), eventText(entry), entry.To, strconv.Itoa(entry.Attempt + 1)}
	})
}

// eventText describes an entry of a timeline.
func eventText(entry client.TimelineEntry) string {
	text := dashboard.KindText(job.Trigger(entry.Kind))
	if entry.Reason != nil {
		text += " (ignored: " + dashboard.ReasonText(job.Reason(*entry.Reason)) + ")"
	}
	return text
}

type jobsDeliveriesCommand struct{ jobFlags }

// Run lists the webhooks of the job.
func (c *jobsDeliveriesCommand) Run(ctx context.Context, to terminal, api *client.Client) error {
	return printList(c.outputFlags, to, "WHEN|EVENT|STATE|ATTEMPTS|RESPONSE|NEXT ATTEMPT|URL", api.Deliveries(ctx, c.ID), 0,
		func(delivery client.Delivery) []string {
			return []string{
				to.time(delivery.EmittedAt), delivery.Event, delivery.State, strconv.Itoa(len(delivery.Tries)), lastTry(delivery),
				to.maybe(delivery.NextTryAt), delivery.URL,
			}
		})
}

// lastTry describes the response to the last attempt to deliver a webhook.
func lastTry(delivery client.Delivery) string {
	if len(delivery.Tries) == 0 {
		return ""
	}
	last := delivery.Tries[len(delivery.Tries)-1]
	return responseText(last.Status, last.Error)
}

// responseText describes the response to an attempt: its status, or the error.
func responseText(status *int, problem *string) string {
	if status != nil {
		return strconv.Itoa(*status)
	}
	return deref(problem)
}

type jobsPatchCommand struct {
	jobFlags
	JoinAt   *time.Time `placeholder:"TIME" help:"When to join, such as 10:00, +15m, tomorrow 10:00 or 2026-11-26T10:00."`
	Name     *string    `help:"Name shown to other participants."`
	Metadata string     `placeholder:"JSON" help:"JSON object that replaces the job's metadata."`
	leaveFlags
	recordingFlags
	optionFlags
}

// Run changes the job.
func (c *jobsPatchCommand) Run(ctx context.Context, to terminal, api *client.Client) error {
	leave, err := c.patch()
	if err != nil {
		return err
	}
	patch := client.JobPatch{DisplayName: c.Name, AutoLeave: leave, Recording: c.recordingOptions(), Options: c.options(), JoinAt: c.JoinAt}
	if c.Metadata != "" {
		if !json.Valid([]byte(c.Metadata)) {
			return fmt.Errorf("--metadata is not valid JSON: %s", c.Metadata)
		}
		patch.Metadata = json.RawMessage(c.Metadata)
	}
	changed, err := api.PatchJob(ctx, c.ID, patch)
	return c.printJob(to, api, client.JobDetails{Job: changed}, err)
}

type jobsCancelCommand struct{ jobFlags }

// Run cancels the job.
func (c *jobsCancelCommand) Run(ctx context.Context, to terminal, api *client.Client) error {
	before, err := api.Job(ctx, c.ID)
	if err != nil {
		return err
	}
	if before.Ended() {
		fmt.Fprintf(to.Err, "already %s\n", before.Status)
	} else if err := api.CancelJob(ctx, c.ID); err != nil {
		return err
	}
	cancelled, err := api.JobDetails(ctx, c.ID)
	return c.printJob(to, api, cancelled, err)
}
