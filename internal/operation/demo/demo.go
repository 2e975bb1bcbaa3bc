// Package demo runs the service with a local replica meeting and sends one bot into it.
package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	"github.com/google/uuid"
	"golang.org/x/term"

	"standin/client"
	"standin/internal/account"
	"standin/internal/jobs/dispatch"
	"standin/internal/jobs/job"
	"standin/internal/launch"
	"standin/internal/replica"
	"standin/internal/server/service"
)

const (
	demoConsumer   = "demo"
	demoAdmitAfter = 2 * time.Second // long enough to show the lobby
	demoTimeout    = 3 * time.Minute // in addition to the recording
)

// command is the command demo.
type command struct {
	Once        bool   `help:"Exit after the job and print the manifest last on standard output; exit code 0 only if the job completed."`
	Seconds     int    `default:"20" help:"How long to record, in seconds."`
	DataDir     string `default:"standin-demo" placeholder:"DIR" help:"Directory of the database and the recordings. They are kept."`
	Listen      string `default:"127.0.0.1:0" help:"Address of the service; port 0 picks a free one."`
	Browser     string `env:"STANDIN_BROWSER" help:"Browser to start. Default: Chromium or Google Chrome on PATH."`
	BrowserMode string `env:"STANDIN_BROWSER_MODE" default:"auto" enum:"auto,headless,headed" help:"How the bot runs the browser, as for standin serve."`
}

// Command adds the command to a command line.
func Command() kong.Option {
	return kong.DynamicCommand("demo", "Run the service with a local replica meeting and send one bot into it.", "start", new(command))
}

// Help describes the output of the demo.
func (command) Help() string {
	return "Progress and webhooks go to standard error, the manifest goes to standard output. " +
		"The meeting is a local page with live WebRTC participants; nothing leaves this machine."
}

// demo is a running demo.
type demo struct {
	command
	stdout, stderr io.Writer
	terminal       bool // stderr is one, so a line can be rewritten
	dir            string
	log            *slog.Logger
	service        *service.Service
	meeting        *replica.Meeting
	webhooks       *webhookReceiver
	team           account.Consumer
	api            *client.Client
	startedAt      time.Time
}

// Run runs the demo.
func (c *command) Run(ctx context.Context, k *kong.Kong) (err error) {
	if c.Seconds < 1 || c.Seconds > 3600 {
		return errors.New("--seconds must be between 1 and 3600")
	}
	d := &demo{command: *c, stdout: k.Stdout, stderr: k.Stderr, terminal: term.IsTerminal(int(os.Stderr.Fd())), startedAt: time.Now()}
	if d.dir, err = filepath.Abs(c.DataDir); err != nil {
		return fmt.Errorf("find the data directory: %w", err)
	}
	return d.run(ctx)
}

// run opens a meeting, starts the service, creates a job and prints its
// progress.
func (d *demo) run(ctx context.Context) (err error) {
	d.printf("preparing a meeting with two participants; one of them beeps and flashes once a second")
	media, err := replica.PrepareMedia(ctx, replica.MediaFolder())
	if err != nil {
		return fmt.Errorf("prepare the meeting: %w", err)
	}
	if err := os.MkdirAll(d.dir, 0o700); err != nil {
		return fmt.Errorf("create the data directory: %w", err)
	}
	logFile, err := os.OpenFile(filepath.Join(d.dir, "standin.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open the log: %w", err)
	}
	defer logFile.Close()
	d.log = slog.New(slog.NewTextHandler(logFile, &slog.HandlerOptions{Level: slog.LevelDebug}))
	server, err := replica.Start(ctx, replica.Options{Media: media, Log: d.log})
	if err != nil {
		return fmt.Errorf("open the meeting: %w", err)
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	if d.meeting, err = server.Open(replica.Settings{AdmitAfter: demoAdmitAfter}); err != nil {
		return fmt.Errorf("open the meeting: %w", err)
	}
	if err := d.startService(ctx, server.URL()); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.service.Close()) }()
	defer func() { err = errors.Join(err, d.webhooks.close()) }()

	created, err := d.createJob(ctx)
	if err != nil {
		return err
	}
	d.printf("created job %s for %s", created.ID, d.meeting.URL())
	if err := d.watch(ctx, created.ID); err != nil {
		return err
	}
	if err := d.printManifest(ctx, created.ID); err != nil || d.Once {
		return err
	}
	link, err := d.service.SignInLink(ctx, d.team, "/jobs/"+created.ID+"#recording")
	if err != nil {
		return fmt.Errorf("create the dashboard link: %w", err)
	}
	d.printf("watch the recording, signed in: %s", link)
	d.printf("the service is still running at %s; press Ctrl-C to stop", d.service.BaseURL())
	<-ctx.Done()
	return nil
}

// startService starts the service, an API client with a new key, and a receiver
// for its webhooks.
func (d *demo) startService(ctx context.Context, meetingURL string) (err error) {
	executable, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the standin executable: %w", err)
	}
	d.service, err = service.Start(ctx, service.Settings{
		Listen: d.Listen, DataSettings: service.DataSettings{DataDir: d.dir}, Executable: executable,
		Bots:     launch.BotSettings{Browser: d.Browser, BrowserMode: d.BrowserMode, NoSandbox: os.Geteuid() == 0},
		Dispatch: dispatch.Options{AllowedMeetingHosts: []string{strings.TrimPrefix(meetingURL, "http://")}, LoopbackMeetings: true},
		Log:      d.log,
	})
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.service.Close())
		}
	}()
	issued, key, err := d.service.Keys.Issue(ctx, demoConsumer, "", job.Live)
	if err != nil {
		return err
	}
	if d.team, err = d.service.Store().Consumer(ctx, issued.ConsumerID); err != nil {
		return err
	}
	if d.api, err = client.New(d.service.BaseURL(), key); err != nil {
		return err
	}
	if d.webhooks, err = newWebhookReceiver(ctx, d.team.WebhookSecret); err != nil {
		return err
	}
	d.printf("standin is listening on %s; its log is %s", d.service.BaseURL(), filepath.Join(d.dir, "standin.log"))
	return nil
}

// createJob creates the job through the public API.
func (d *demo) createJob(ctx context.Context) (client.Job, error) {
	created, _, err := d.api.CreateJob(ctx, client.NewJob{
		ExternalID:  "demo-" + d.startedAt.UTC().Format("20060102T150405.000"),
		MeetingURL:  d.meeting.URL(),
		DisplayName: "Standin demo",
		Webhooks:    &client.Webhooks{OnStatusChange: d.webhooks.url, OnFinalize: d.webhooks.url},
		Recording:   &client.Recording{ParticipantAudio: new(true)},
		Options: client.Options{
			Title:    "A demo of Standin",
			Captions: &client.TextOptions{Enabled: new(true), Language: "en"},
			Chat:     new(true),
		},
	})
	return created, err
}

// watch prints webhooks and progress until the job ends. It ends the meeting
// after d.Seconds of recording.
func (d *demo) watch(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, demoTimeout+time.Duration(d.Seconds)*time.Second)
	defer cancel()
	var recorded, next <-chan time.Time
	script := conversation
	progress := time.NewTicker(time.Second)
	defer progress.Stop()
	for {
		select {
		case got := <-d.webhooks.received:
			d.clearLine()
			d.printf("webhook %-20s %s", got.Event, webhookSummary(got))
			switch {
			case got.Data.To == string(job.RecordingStarted) && recorded == nil:
				recorded = time.After(time.Duration(d.Seconds) * time.Second)
				next = time.After(scriptPause)
			case got.Event == "job.finalized":
				return nil
			case got.Event == "job.failed":
				return fmt.Errorf("the job failed: %s: %s", text(got.Data.FailureCode), text(got.Data.FailureDetail))
			}
		case err := <-d.webhooks.failed:
			return fmt.Errorf("receive webhooks: %w", err)
		case <-recorded:
			recorded = make(chan time.Time) // never fires again
			d.clearLine()
			d.printf("the host ends the meeting")
			d.meeting.End()
		case <-next:
			if err := script[0].say(d.meeting); err != nil {
				return fmt.Errorf("speak in the meeting: %w", err)
			}
			if script = script[1:]; len(script) > 0 {
				next = time.After(scriptPause)
			}
		case <-progress.C:
			d.printProgress(ctx, id)
		case err := <-d.service.Failed():
			return err
		case <-ctx.Done():
			return fmt.Errorf("the job did not end: %w", ctx.Err())
		}
	}
}

// printManifest prints the manifest and where its media are.
func (d *demo) printManifest(ctx context.Context, id string) error {
	manifest, err := d.api.Manifest(ctx, id)
	if err != nil {
		return err
	}
	var names []string
	for _, file := range manifest.Media {
		names = append(names, file.Name)
	}
	d.printf("recorded %s in %s", strings.Join(names, ", "), filepath.Join(d.dir, "recordings", "jobs", id, "media"))
	var encoded bytes.Buffer
	encoder := json.NewEncoder(&encoded)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(manifest); err != nil {
		return fmt.Errorf("encode the manifest: %w", err)
	}
	_, err = d.stdout.Write(encoded.Bytes())
	return err
}

// printProgress rewrites the progress line of a terminal.
func (d *demo) printProgress(ctx context.Context, id string) {
	if !d.terminal {
		return
	}
	current, err := d.api.Job(ctx, id)
	if err != nil {
		return // shown by the next tick
	}
	received, err := d.service.BytesReceived(ctx, uuid.MustParse(id))
	if err != nil {
		return
	}
	fmt.Fprintf(d.stderr, "\r%s %-20s %6.1f MB received ", d.elapsed(), current.Status, float64(received)/1e6)
}

// printf prints a line with the time since the start.
func (d *demo) printf(format string, args ...any) {
	fmt.Fprintf(d.stderr, "%s %s\n", d.elapsed(), fmt.Sprintf(format, args...))
}

func (d *demo) elapsed() string { return fmt.Sprintf("%6.1fs", time.Since(d.startedAt).Seconds()) }

// clearLine clears the progress line of a terminal.
func (d *demo) clearLine() {
	if d.terminal {
		fmt.Fprint(d.stderr, "\r\x1b[2K")
	}
}

// text returns the text of an optional string.
func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
