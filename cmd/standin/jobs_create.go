package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"

	"standin/client"
	"standin/internal/base/dialguard"
	"standin/internal/base/meetinglink"
)

type jobsCreateCommand struct {
	apiFlags
	MeetingURL     string     `arg:"" help:"Meeting URL."`
	ExternalID     string     `help:"Your own ID for the job; creating a job with the same ID again returns the existing job. Default: a random ID."`
	Platform       string     `enum:",meet,teams,zoom-web,zoom-sdk" default:"" help:"Meeting platform: meet, teams, zoom-web or zoom-sdk. Default: derived from the URL."`
	JoinAt         *time.Time `placeholder:"TIME" help:"When to join, such as 10:00, +15m, tomorrow 10:00 or 2026-11-26T10:00. Default: now."`
	Name           string     `help:"Name shown to other participants."`
	Webhook        string     `placeholder:"https://…" help:"URL that receives all webhooks of the job."`
	OnStatusChange string     `placeholder:"https://…" help:"URL that receives the job's webhooks except job.finalized."`
	OnFinalize     string     `placeholder:"https://…" help:"URL that receives job.finalized."`
	Metadata       string     `placeholder:"JSON" help:"JSON object that is returned with the job and in webhooks."`
	Dedupe         bool       `help:"Return the job that already joins the same meeting at that time, if there is one."`
	leaveFlags
	recordingFlags
	optionFlags
	Simulate           string   `predictor:"outcome" placeholder:"OUTCOME" help:"With a test key: what happens, such as lobby_timeout. The guide lists the outcomes."`
	SimulateSeconds    *float64 `placeholder:"SECONDS" help:"With a test key: length of the meeting, up to 3600."`
	SimulateSpeed      float64  `placeholder:"FACTOR" help:"With a test key: how much faster time passes, 1 to 100."`
	SimulatePermission string   `enum:",granted,denied,timeout" default:"" help:"With a test key: response to the request for permission: granted, denied or timeout."`
	Watch              bool     `help:"Watch the job until it ends."`
}

// Run creates the job.
func (c *jobsCreateCommand) Run(ctx context.Context, to terminal, api *client.Client) error {
	if link, err := meetinglink.Resolve("https://" + c.MeetingURL); err == nil && meetinglink.IsPlatform(link.URL) {
		c.MeetingURL = "https://" + c.MeetingURL
	}
	request := client.NewJob{
		ExternalID: c.ExternalID, MeetingURL: c.MeetingURL, Platform: c.Platform, DisplayName: c.Name,
		Recording: c.recordingOptions(), Options: c.options(), Dedupe: c.Dedupe, JoinAt: c.JoinAt,
	}
	simulation := client.Simulation{
		Outcome: strings.ReplaceAll(c.Simulate, "-", "_"), Seconds: c.SimulateSeconds, Speed: c.SimulateSpeed, Permission: c.SimulatePermission,
	}
	if simulation != (client.Simulation{}) {
		request.Simulate = &simulation
	}
	if request.ExternalID == "" {
		request.ExternalID = "cli-" + uuid.NewString()
	}
	hooks := client.Webhooks{OnStatusChange: cmp.Or(c.OnStatusChange, c.Webhook), OnFinalize: cmp.Or(c.OnFinalize, c.Webhook)}
	if hooks != (client.Webhooks{}) {
		request.Webhooks = &hooks
	}
	if c.Metadata != "" {
		if !json.Valid([]byte(c.Metadata)) {
			return fmt.Errorf("--metadata is not valid JSON: %s", c.Metadata)
		}
		request.Metadata = json.RawMessage(c.Metadata)
	}
	var err error
	if request.AutoLeave, err = c.patch(); err != nil {
		return err
	}
	warnOfPrivate(to, c.Webhook, c.OnStatusChange, c.OnFinalize)
	if c.JoinAt != nil && time.Until(*c.JoinAt) < -time.Minute {
		fmt.Fprintf(to.Err, "%s has passed; the bot joins now\n", c.JoinAt.Local().Format("2006-01-02 15:04"))
	}
	// The service alone knows which other hosts its operator allows: its warning
	// about a host is printed after the request.
	warned := ""
	if link, err := meetinglink.Resolve(c.MeetingURL); err == nil && meetinglink.IsPlatform(link.URL) {
		if warned = link.Warning; warned != "" {
			fmt.Fprintln(to.Err, "warning:", warned)
		}
	}
	return c.create(ctx, to, api, request, warned, c.Watch)
}

// warnOfPrivate warns of webhook URLs at private addresses.
func warnOfPrivate(to terminal, urls ...string) {
	for _, hook := range urls {
		address, _ := url.Parse(hook) // the service refuses what is no URL
		if address == nil {
			continue
		}
		if ip, err := netip.ParseAddr(address.Hostname()); err == nil && !ip.IsLoopback() && dialguard.SpecialPurpose(ip) != "" {
			fmt.Fprintf(to.Err,
				"warning: %s is not a public address: webhooks reach it only if STANDIN_WEBHOOK_ALLOW_CIDRS of the service has it\n", ip)
		}
	}
}

// create creates a job, prints it, and watches it if that is wanted.
func (f apiFlags) create(ctx context.Context, to terminal, api *client.Client, request client.NewJob, warned string, watched bool) error {
	created, replayed, err := api.CreateJob(ctx, request)
	if err != nil {
		return err
	}
	if created.Warning != "" && created.Warning != warned {
		fmt.Fprintln(to.Err, "warning:", created.Warning)
	}
	if replayed {
		fmt.Fprintln(to.Err, "this job already exists")
	}
	if err := f.printJob(to, api, client.JobDetails{Job: created, Title: &request.Title}, nil); err != nil || !watched {
		return err
	}
	return f.watch(ctx, to, api, created.ID)
}

type jobsRerunCommand struct {
	jobFlags
	JoinAt *time.Time `placeholder:"TIME" help:"When to join. Default: now."`
	Watch  bool       `help:"Watch the new job until it ends."`
}

// Run creates a job for the same meeting, with the same settings.
func (c *jobsRerunCommand) Run(ctx context.Context, to terminal, api *client.Client) error {
	from, err := api.JobDetails(ctx, c.ID)
	if err != nil {
		return err
	}
	leave := from.AutoLeave
	request := client.NewJob{
		ExternalID: "cli-" + uuid.NewString(), MeetingURL: from.MeetingURL, Platform: from.Platform, DisplayName: from.DisplayName,
		Webhooks: &from.Webhooks, Metadata: from.Metadata, Recording: from.Options.Recording, Options: from.Options.Options, JoinAt: c.JoinAt,
		AutoLeave: &client.AutoLeavePatch{
			AfterEntryDelaySeconds: &leave.AfterEntryDelaySeconds, AfterSilenceSeconds: &leave.AfterSilenceSeconds,
			AfterSoloSeconds: &leave.AfterSoloSeconds, AfterMaxSeconds: &leave.AfterMaxSeconds, OnBotDetected: &leave.OnBotDetected,
		},
	}
	return c.create(ctx, to, api, request, "", c.Watch)
}

// leaveFlags are the flags for when the bot leaves.
type leaveFlags struct {
	LeaveLobbyAfter   time.Duration `placeholder:"10m" help:"Leave when nobody admitted the bot for this long."`
	LeaveSilenceAfter time.Duration `placeholder:"20m" help:"Leave after silence of this length."`
	LeaveAloneAfter   time.Duration `placeholder:"1m" help:"Leave when the bot was alone for this long."`
	LeaveAfter        time.Duration `placeholder:"4h" help:"Leave after this time in the meeting at the latest."`
	LeaveForBots      *bool         `type:"onoff" negatable:"" help:"Leave when another notetaker is present."`
	AutoLeave         string        `placeholder:"JSON" help:"The same settings as a JSON object, as in the API."`
}

// patch returns the settings that are set, nil for none.
func (f leaveFlags) patch() (*client.AutoLeavePatch, error) {
	if f == (leaveFlags{}) {
		return nil, nil
	}
	patch := new(client.AutoLeavePatch)
	if f.AutoLeave != "" {
		decoder := json.NewDecoder(strings.NewReader(f.AutoLeave))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(patch); err != nil {
			return nil, fmt.Errorf("parse --auto-leave: %w", err)
		}
	}
	for _, limit := range []struct {
		given time.Duration
		field **int
	}{
		{f.LeaveLobbyAfter, &patch.AfterEntryDelaySeconds},
		{f.LeaveSilenceAfter, &patch.AfterSilenceSeconds},
		{f.LeaveAloneAfter, &patch.AfterSoloSeconds},
		{f.LeaveAfter, &patch.AfterMaxSeconds},
	} {
		if limit.given != 0 {
			*limit.field = new(int(limit.given.Seconds()))
		}
	}
	patch.OnBotDetected = cmp.Or(f.LeaveForBots, patch.OnBotDetected)
	return patch, nil
}

// recordingFlags are the flags for the recording options of a job.
type recordingFlags struct {
	Mode             string `name:"recording-mode" enum:",video,audio,none" default:"" help:"What is recorded: video (with audio), audio, or none. Default: the team's or the service's setting."`
	Layout           string `enum:",speaker,gallery,content,page" default:"" help:"What the video shows: the active speaker, or shared content, large (speaker), everyone in equal tiles (gallery), shared content as large as possible (content), or the meeting page as it is (page)."`
	Resolution       string `enum:",720p,1080p" default:"" help:"Size of the video: 720p or 1080p. Default: the team's or the service's setting."`
	ParticipantAudio *bool  `type:"onoff" negatable:"" help:"Record the audio of each participant separately as well."`
	Capture          string `enum:",tab,streams" default:"" help:"Record the page (tab), or each participant's video as received (streams)."`
}

// optionFlags are the flags for the other options of a job.
type optionFlags struct {
	Title              string   `help:"Title of the meeting."`
	Captions           *bool    `type:"onoff" negatable:"" help:"Record the live captions of the meeting page. Default: the service's setting."`
	CaptionsLanguage   string   `placeholder:"TAG" help:"Language of the captions, such as en-US."`
	Chat               *bool    `type:"onoff" negatable:"" help:"Record the chat of the meeting. Default: the service's setting."`
	Transcript         *bool    `type:"onoff" negatable:"" help:"Transcribe the recording. Default: on, if the service has a transcriber."`
	TranscriptLanguage string   `placeholder:"TAG" help:"Language that is spoken, such as en. Default: detected."`
	LiveTranscript     *bool    `type:"onoff" negatable:"" help:"Transcribe the meeting also while it runs. Default: off."`
	Keyterm            []string `placeholder:"TEXT" sep:"none" help:"Word or name that is likely to be said. Can be given up to 100 times."`
	AskPermission      *bool    `type:"onoff" negatable:"" help:"Ask the host for permission and record only when it is granted. Default: the service's setting."`
	botOutputFlags
}

// botOutputFlags are the flags for what the bots of jobs play and show.
type botOutputFlags struct {
	Output      bool   `name:"allow-output" help:"Allow the bot to play sound and to show pictures in the meeting."`
	PlayOnJoin  string `xor:"on-join" placeholder:"URL" help:"Audio file that the bot plays when it is admitted."`
	SayOnJoin   string `xor:"on-join" placeholder:"TEXT" help:"Text that the bot speaks when it is admitted."`
	CameraImage string `xor:"camera" placeholder:"URL" help:"Image that the bot shows as its camera."`
	CameraPage  string `xor:"camera" placeholder:"URL" help:"Web page that the bot shows as its camera, and that hears the meeting and speaks in it."`
	CameraName  bool   `xor:"camera" help:"Show a card with the bot's name as its camera."`
}

// options returns the options that are set.
func (f optionFlags) options() client.Options {
	options := client.Options{Title: f.Title, Chat: f.Chat, Output: f.output()}
	if f.Captions != nil || f.CaptionsLanguage != "" {
		options.Captions = &client.TextOptions{Enabled: f.Captions, Language: f.CaptionsLanguage}
	}
	if f.Transcript != nil || f.TranscriptLanguage != "" || f.LiveTranscript != nil || len(f.Keyterm) > 0 {
		options.Transcript = &client.TranscriptOptions{
			Enabled: f.Transcript, Language: f.TranscriptLanguage, Live: f.LiveTranscript, Keyterms: f.Keyterm,
		}
	}
	if f.AskPermission != nil {
		options.Consent = &client.ConsentOptions{Required: f.AskPermission}
	}
	return options
}

// output returns the options of output, nil for none.
func (f botOutputFlags) output() *client.OutputOptions {
	var output client.OutputOptions
	if f.PlayOnJoin != "" || f.SayOnJoin != "" {
		output.OnJoin = &client.OutputOnJoin{URI: f.PlayOnJoin, Text: f.SayOnJoin}
	}
	switch {
	case f.CameraImage != "":
		output.Camera = &client.CameraOptions{Image: &client.WebPage{URI: f.CameraImage}}
	case f.CameraPage != "":
		output.Camera = &client.CameraOptions{Page: &client.WebPage{URI: f.CameraPage}}
	case f.CameraName:
		output.Camera = &client.CameraOptions{NameCard: true}
	}
	if !f.Output && output == (client.OutputOptions{}) {
		return nil
	}
	return &output
}

// recordingOptions returns the options that are set, nil for none.
func (f recordingFlags) recordingOptions() *client.Recording {
	if f == (recordingFlags{}) {
		return nil
	}
	return new(client.Recording(f))
}
