package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/job"
	"standin/internal/launch"
	"standin/internal/replica"
	"standin/internal/service"
)

const (
	demoConsumer   = "demo"
	demoAdmitAfter = 2 * time.Second // the bot is seen waiting in the lobby
	demoPatience   = 3 * time.Minute // for everything but the meeting itself
)

type demoCommand struct {
	Once    bool   `help:"End after the job, with the manifest as the last thing on standard output; exit code 0 only if it completed."`
	Seconds int    `default:"20" help:"How long to record."`
	Keep    string `placeholder:"DIR" help:"Keep the data in this folder. Default: a temporary one, removed at the end."`
	Listen  string `default:"127.0.0.1:0" help:"Address of the service; port 0 picks a free one."`
	Browser string `env:"STANDIN_BROWSER" help:"The Chromium to start. Default: found on PATH."`
}

// Help tells what is seen where.
func (demoCommand) Help() string {
	return "Progress and webhooks go to standard error, the manifest to standard output. " +
		"The meeting is a local page with live WebRTC participants; nothing leaves this machine."
}

// demo is a demo at work.
type demo struct {
	demoCommand
	to      terminal
	dir     string
	log     *slog.Logger
	service *service.Service
	meeting *replica.Meeting
	hooks   *hookReceiver
	key     string
	began   time.Time
}

// Run runs the demo.
func (c *demoCommand) Run(ctx context.Context, to terminal) (err error) {
	if c.Seconds < 1 || c.Seconds > 3600 {
		return errors.New("--seconds must be between 1 and 3600")
	}
	d := &demo{demoCommand: *c, to: to, dir: c.Keep, began: time.Now()}
	if d.dir == "" {
		if d.dir, err = os.MkdirTemp("", "standin-demo-"); err != nil {
			return fmt.Errorf("make a folder: %w", err)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(d.dir)) }()
	}
	return d.run(ctx)
}

// run opens a meeting, starts the service, sends a bot and shows what happens.
func (d *demo) run(ctx context.Context) (err error) {
	d.say("preparing a meeting: two people, one of whom beeps and flashes once a second")
	media, err := replica.PrepareMedia(ctx, replica.MediaFolder())
	if err != nil {
		return fmt.Errorf("prepare the meeting: %w", err)
	}
	if err := os.MkdirAll(d.dir, 0o700); err != nil {
		return fmt.Errorf("make the data folder: %w", err)
	}
	logFile, err := os.OpenFile(filepath.Join(d.dir, "standin.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open the log: %w", err)
	}
	defer logFile.Close()
	d.log = slog.New(slog.NewTextHandler(logFile, &slog.HandlerOptions{Level: slog.LevelDebug}))
	stage, err := replica.Start(ctx, replica.Options{Media: media, Log: d.log})
	if err != nil {
		return fmt.Errorf("open the meeting: %w", err)
	}
	defer func() { err = errors.Join(err, stage.Close()) }()
	if d.meeting, err = stage.Open(replica.Settings{AdmitAfter: demoAdmitAfter}); err != nil {
		return fmt.Errorf("open the meeting: %w", err)
	}
	if err := d.startService(ctx, stage.URL()); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.service.Close()) }()
	defer func() { err = errors.Join(err, d.hooks.close()) }()

	created, err := d.createJob(ctx)
	if err != nil {
		return err
	}
	d.say("job %s sent to %s", created.ID, d.meeting.URL())
	if err := d.follow(ctx, created.ID); err != nil {
		return err
	}
	if err := d.showManifest(ctx, created); err != nil || d.Once {
		return err
	}
	link, ok, err := d.service.FirstUserLink(ctx)
	if err != nil {
		return fmt.Errorf("open the dashboard: %w", err)
	}
	if ok {
		d.say("the dashboard: open %s and call your team %q to see this job there", link, demoConsumer)
	}
	d.say("the service goes on at %s; press Ctrl-C to end", d.service.BaseURL())
	<-ctx.Done()
	return nil
}

// startService starts the service, with a fresh key and a receiver for its
// webhooks.
func (d *demo) startService(ctx context.Context, stage string) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the standin binary: %w", err)
	}
	d.service, err = service.Start(ctx, service.Settings{
		Listen: d.Listen, DataDir: d.dir, Executable: self, Bots: launch.BotSettings{Browser: d.Browser},
		AllowedMeetingHosts: []string{strings.TrimPrefix(stage, "http://")}, LoopbackMeetings: true,
		Log: d.log,
	})
	if err != nil {
		return err
	}
	var key account.Key
	if key, d.key, err = d.service.Keys.Issue(ctx, demoConsumer, "", job.Live); err != nil {
		return errors.Join(err, d.service.Close())
	}
	consumer, err := d.service.Store().Consumer(ctx, key.ConsumerID)
	if err == nil {
		d.hooks, err = receiveHooks(ctx, consumer.WebhookSecret)
	}
	if err != nil {
		return errors.Join(err, d.service.Close())
	}
	d.say("standin serves on %s; its log is %s", d.service.BaseURL(), filepath.Join(d.dir, "standin.log"))
	return nil
}

// demoJob is what the demo reads of a job.
type demoJob struct {
	ID          uuid.UUID `json:"id"`
	Status      string    `json:"status"`
	ManifestURI string    `json:"manifestUri"`
}

// createJob sends the job through the public API.
func (d *demo) createJob(ctx context.Context) (demoJob, error) {
	body, err := json.Marshal(map[string]any{
		"externalId":  "demo-" + d.began.UTC().Format("20060102T150405.000"),
		"meetingUrl":  d.meeting.URL(),
		"displayName": "Standin demo",
		"webhooks":    map[string]string{"onStatusChange": d.hooks.url, "onFinalize": d.hooks.url},
		"metadata":    map[string]string{"purpose": "demo"},
	})
	if err != nil {
		return demoJob{}, fmt.Errorf("encode the job: %w", err)
	}
	answer, err := d.call(ctx, http.MethodPost, d.service.BaseURL()+"/api/v1/jobs", body)
	if err != nil {
		return demoJob{}, err
	}
	var created demoJob
	if err := json.Unmarshal(answer, &created); err != nil {
		return demoJob{}, fmt.Errorf("read the created job: %w", err)
	}
	return created, nil
}

// call calls the public API with the demo's key.
func (d *demo) call(ctx context.Context, method, address string, body []byte) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+d.key)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, 16<<20))
	if err != nil {
		return nil, err
	}
	if response.StatusCode >= 300 {
		return nil, fmt.Errorf("%s %s: %s: %s", method, address, response.Status, answer)
	}
	return answer, nil
}

// follow shows every webhook and the progress between them until the job has
// ended, and ends the meeting when it was recorded for long enough.
func (d *demo) follow(ctx context.Context, id uuid.UUID) error {
	ctx, cancel := context.WithTimeout(ctx, demoPatience+time.Duration(d.Seconds)*time.Second)
	defer cancel()
	var enough <-chan time.Time
	progress := time.NewTicker(time.Second)
	defer progress.Stop()
	for {
		select {
		case hook := <-d.hooks.received:
			d.clearLine()
			d.say("webhook %-20s %s (signatures verified, delivery %s)", hook.Event, hook.what(), hook.DeliveryID)
			switch {
			case hook.Data.To == job.RecordingStarted && enough == nil:
				enough = time.After(time.Duration(d.Seconds) * time.Second)
			case hook.Event == "job.finalized":
				return nil
			case hook.Event == "job.failed":
				return fmt.Errorf("the job failed: %s: %s", hook.Data.FailureCode, hook.Data.FailureDetail)
			}
		case err := <-d.hooks.refused:
			return fmt.Errorf("a webhook does not verify: %w", err)
		case <-enough:
			enough = make(chan time.Time) // never again
			d.clearLine()
			d.say("the host ends the meeting")
			d.meeting.End()
		case <-progress.C:
			d.progress(ctx, id)
		case err := <-d.service.Failed():
			return err
		case <-ctx.Done():
			return fmt.Errorf("the job did not come to its end: %w", ctx.Err())
		}
	}
}

// progress rewrites the line that tells how far the job is.
func (d *demo) progress(ctx context.Context, id uuid.UUID) {
	record, err := d.service.Store().Job(ctx, id)
	if err != nil {
		return // the next one tells
	}
	received, err := d.service.BytesReceived(ctx, id)
	if err != nil {
		return
	}
	fmt.Fprintf(d.to.err, "\r%s %-20s %6.1f MB received ", d.elapsed(), record.Status, float64(received)/1e6)
}

// showManifest prints the manifest, and how to play what it names.
func (d *demo) showManifest(ctx context.Context, created demoJob) error {
	address := d.service.BaseURL() + "/api/v1/jobs/" + created.ID.String() + "/manifest"
	text, err := d.call(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	var manifest struct {
		Media []struct{ URI, Name string }
	}
	if err := json.Unmarshal(text, &manifest); err != nil {
		return fmt.Errorf("read the manifest: %w", err)
	}
	for _, file := range manifest.Media {
		switch {
		case d.Keep != "":
			d.say("play %s", filepath.Join(d.dir, "recordings", "jobs", created.ID.String(), "media", file.Name))
		case !d.Once:
			d.say("fetch it:  curl -H 'Authorization: Bearer %s' -o %s %s", d.key, file.Name, file.URI)
			d.say("then open %s in a browser or player", file.Name)
		default:
			d.say("the recording is removed now; --keep DIR keeps it")
		}
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, text, "", "  "); err != nil {
		return fmt.Errorf("show the manifest: %w", err)
	}
	_, err = fmt.Fprintln(d.to.out, indented.String())
	return err
}

// say prints a line of what happens, with the time since the beginning.
func (d *demo) say(format string, args ...any) {
	fmt.Fprintf(d.to.err, "%s %s\n", d.elapsed(), fmt.Sprintf(format, args...))
}

func (d *demo) elapsed() string { return fmt.Sprintf("%6.1fs", time.Since(d.began).Seconds()) }

// clearLine makes room where progress stood.
func (d *demo) clearLine() { fmt.Fprintf(d.to.err, "\r%-60s\r", "") }

// listenLoopback listens on any free port of the loopback interface.
func listenLoopback(ctx context.Context) (net.Listener, error) {
	return new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
}
