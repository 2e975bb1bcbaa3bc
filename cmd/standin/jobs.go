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
	"standin/internal/meetinglink"
)

type jobsCommand struct {
	Create jobsCreateCommand `cmd:"" help:"Create a job, which sends a bot into a meeting."`
	Get    jobsGetCommand    `cmd:"" help:"Show a job."`
	List   jobsListCommand   `cmd:"" help:"List jobs, newest first."`
	Watch  jobsWatchCommand  `cmd:"" help:"Watch a job until it ends. Exit code 3 if it fails or is cancelled."`
	Patch  jobsPatchCommand  `cmd:"" help:"Change a job that is not dispatched yet."`
	Cancel jobsCancelCommand `cmd:"" help:"Cancel a job. A bot that is in the meeting leaves."`
	Ask    jobsAskCommand    `cmd:"" help:"Ask the meeting host for permission to record."`
	Pause  jobsPauseCommand  `cmd:"" help:"Pause the recording."`
	Resume jobsResumeCommand `cmd:"" help:"Resume a paused recording."`
	Stop   jobsStopCommand   `cmd:"" help:"Stop the recording; the bot stays in the meeting."`
	Leave  jobsLeaveCommand  `cmd:"" help:"Make the bot leave the meeting."`
	Chat   jobsChatCommand   `cmd:"" help:"Send a message to the meeting chat."`
	Pin    jobsPinCommand    `cmd:"" help:"Pin a participant, whose video is then shown large in the recording."`
}

// jobFlags are the flags of commands for one job.
type jobFlags struct {
	apiFlags
	ID string `arg:"" help:"ID of the job."`
}

type jobsCreateCommand struct {
	apiFlags
	MeetingURL string    `arg:"" help:"Meeting URL."`
	ExternalID string    `help:"Your own ID for the job; creating a job with the same ID again returns the existing job. Default: a random ID."`
	Platform   string    `enum:",meet,teams,zoom-web,zoom-sdk" default:"" help:"Meeting platform. Default: derived from the URL."`
	JoinAt     time.Time `placeholder:"2026-11-20T14:00:00+01:00" help:"When to join. Default: now."`
	Name       string    `help:"Name shown to other participants."`
	Webhook    string    `placeholder:"https://…" help:"URL that receives all webhooks of the job."`
	Metadata   string    `placeholder:"JSON" help:"JSON object that is returned with the job and in webhooks."`
	AutoLeave  string    `placeholder:"JSON" help:"JSON object with the autoLeave settings to change."`
	recordingFlags
	optionFlags
	Simulate string `placeholder:"OUTCOME" help:"With a test key: what happens, such as lobby_timeout. The guide lists the outcomes."`
	Watch    bool   `help:"Watch the job until it ends."`
}

// Run creates the job.
func (c *jobsCreateCommand) Run(ctx context.Context, to terminal) error {
	api, err := c.client()
	if err != nil {
		return err
	}
	request := client.NewJob{
		ExternalID: c.ExternalID, MeetingURL: c.MeetingURL, Platform: c.Platform, DisplayName: c.Name, Recording: c.recordingOptions(), Options: c.options(),
	}
	if c.Simulate != "" {
		request.Simulate = &client.Simulation{Outcome: c.Simulate}
	}
	if request.ExternalID == "" {
		request.ExternalID = "cli-" + uuid.NewString()
	}
	if !c.JoinAt.IsZero() {
		request.JoinAt = &c.JoinAt
	}
	if c.Webhook != "" {
		request.Webhooks = &client.Webhooks{OnStatusChange: c.Webhook, OnFinalize: c.Webhook}
	}
	if c.Metadata != "" {
		if !json.Valid([]byte(c.Metadata)) {
			return fmt.Errorf("--metadata is not valid JSON: %s", c.Metadata)
		}
		request.Metadata = json.RawMessage(c.Metadata)
	}
	if request.AutoLeave, err = autoLeavePatch(c.AutoLeave); err != nil {
		return err
	}
	// The service alone knows which other hosts its operator allows: its warning
	// about a host is printed after the request.
	warned := ""
	if link, err := meetinglink.Resolve(c.MeetingURL); err == nil && meetinglink.IsPlatform(link.URL) {
		if warned = link.Warning; warned != "" {
			fmt.Fprintln(to.Err, "warning:", warned)
		}
	}
	created, replayed, err := api.CreateJob(ctx, request)
	if err != nil {
		return err
	}
	if created.Warning != "" && created.Warning != warned {
		fmt.Fprintln(to.Err, "warning:", created.Warning)
	}
	if replayed {
		fmt.Fprintln(to.Err, "a job with this externalId already exists")
	}
	if err := printJob(to.Out, created, c.JSON); err != nil || !c.Watch {
		return err
	}
	return watch(ctx, to, api, created.ID, c.JSON)
}

// autoLeavePatch parses --auto-leave; it returns nil for an empty text.
func autoLeavePatch(text string) (*client.AutoLeavePatch, error) {
	if text == "" {
		return nil, nil
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	patch := new(client.AutoLeavePatch)
	if err := decoder.Decode(patch); err != nil {
		return nil, fmt.Errorf("parse --auto-leave: %w", err)
	}
	return patch, nil
}

// printJob prints a job.
func printJob(w io.Writer, shown client.Job, asJSON bool) error {
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
	row("join at", formatLocal(&shown.JoinAt))
	row("attempts", fmt.Sprint(shown.Attempts))
	row("started", formatLocal(shown.StartedAt))
	row("finalized", formatLocal(shown.FinalizedAt))
	row("manifest", deref(shown.ManifestURI))
	row("failure", deref(shown.FailureCode))
	row("", deref(shown.FailureDetail))
	return table.Flush()
}

func formatLocal(at *time.Time) string {
	if at == nil {
		return ""
	}
	return at.Local().Format("2006-01-02 15:04:05 MST")
}

func deref(s *string) string {
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
	return printJob(to.Out, found, c.JSON)
}

type jobsListCommand struct {
	apiFlags
	Status     string `help:"Only jobs with this status."`
	Platform   string `help:"Only jobs of this platform."`
	ExternalID string `help:"Only the job with this externalId."`
	Limit      int    `default:"20" help:"Maximum number of jobs; 0 means all."`
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
		return printJSON(to.Out, listed)
	}
	table := tabwriter.NewWriter(to.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tSTATUS\tPLATFORM\tJOIN AT\tEXTERNAL ID\tFAILURE")
	for _, found := range listed {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", found.ID, found.Status, found.Platform, formatLocal(&found.JoinAt), oneLine(found.ExternalID), oneLine(deref(found.FailureCode)))
	}
	return table.Flush()
}

type jobsPatchCommand struct {
	jobFlags
	JoinAt    time.Time `placeholder:"2026-11-20T14:00:00+01:00" help:"When to join."`
	Name      *string   `help:"Name shown to other participants."`
	Metadata  string    `placeholder:"JSON" help:"JSON object that replaces the job's metadata."`
	AutoLeave string    `placeholder:"JSON" help:"JSON object with the autoLeave settings to change."`
	recordingFlags
	optionFlags
}

// recordingFlags are the flags for the recording options of a job.
type recordingFlags struct {
	RecordingMode    string `enum:",video,audio,none" default:"" help:"What is recorded: video (with audio), audio, or none. Default: the team's or the service's setting."`
	Layout           string `enum:",speaker,gallery,content,page" default:"" help:"What the video shows: the active speaker, or shared content, large (speaker), everyone in equal tiles (gallery), shared content as large as possible (content), or the meeting page as it is (page)."`
	Resolution       string `enum:",720p,1080p" default:"" help:"Size of the video: 720p or 1080p. Default: the team's or the service's setting."`
	ParticipantAudio string `enum:",on,off" default:"" help:"Record the audio of each participant separately as well: on or off."`
}

// optionFlags are the flags for the other options of a job.
type optionFlags struct {
	Title              string `help:"Title of the meeting."`
	Captions           string `enum:",on,off" default:"" help:"Record the live captions of the meeting page: on or off. Default: the service's setting."`
	CaptionsLanguage   string `placeholder:"TAG" help:"Language of the captions, such as en-US."`
	Chat               string `enum:",on,off" default:"" help:"Record the chat of the meeting: on or off. Default: the service's setting."`
	Transcript         string `enum:",on,off" default:"" help:"Transcribe the recording: on or off. Default: on, if the service has a transcriber."`
	TranscriptLanguage string `placeholder:"TAG" help:"Language that is spoken, such as en. Default: detected."`
	AskPermission      string `enum:",on,off" default:"" help:"Ask the host for permission and record only when it is granted: on or off. Default: the service's setting."`
}

// options returns the options that are set.
func (f optionFlags) options() client.Options {
	options := client.Options{
		Title: f.Title, Captions: textOptions(f.Captions, f.CaptionsLanguage), Chat: isOn(f.Chat), Transcript: textOptions(f.Transcript, f.TranscriptLanguage),
	}
	if required := isOn(f.AskPermission); required != nil {
		options.Consent = &client.ConsentOptions{Required: required}
	}
	return options
}

// textOptions returns the options of captions or the transcript, nil for none.
func textOptions(enabled, language string) *client.TextOptions {
	if enabled == "" && language == "" {
		return nil
	}
	return &client.TextOptions{Enabled: isOn(enabled), Language: language}
}

// isOn returns whether a flag is on, nil when it is not set.
func isOn(flag string) *bool {
	if flag == "" {
		return nil
	}
	on := flag == "on"
	return &on
}

// recordingOptions returns the options that are set, nil for none.
func (f recordingFlags) recordingOptions() *client.Recording {
	if f == (recordingFlags{}) {
		return nil
	}
	options := &client.Recording{Mode: f.RecordingMode, Layout: f.Layout, Resolution: f.Resolution}
	options.ParticipantAudio = isOn(f.ParticipantAudio)
	return options
}

// Run changes the job.
func (c *jobsPatchCommand) Run(ctx context.Context, to terminal) error {
	api, err := c.client()
	if err != nil {
		return err
	}
	patch := client.JobPatch{DisplayName: c.Name, Recording: c.recordingOptions(), Options: c.options()}
	if !c.JoinAt.IsZero() {
		patch.JoinAt = &c.JoinAt
	}
	if c.Metadata != "" {
		if !json.Valid([]byte(c.Metadata)) {
			return fmt.Errorf("--metadata is not valid JSON: %s", c.Metadata)
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
	return printJob(to.Out, changed, c.JSON)
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
	return printJob(to.Out, cancelled, c.JSON)
}
