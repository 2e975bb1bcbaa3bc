package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"standin/client"
	"standin/internal/account"
	"standin/internal/jobs/dispatch"
	"standin/internal/jobs/job"
	"standin/internal/jobs/zoomstream"
	"standin/internal/launch"
	"standin/internal/recording/speech"
	"standin/internal/recording/transcript"
	"standin/internal/recording/transcript/streaming"
	"standin/internal/replica"
	"standin/internal/replica/rtmsdouble"
	"standin/internal/replica/speechserver"
	"standin/internal/server/service"
)

// practicePlatforms are the names of meetings, and the platforms of their jobs: the address does not tell it.
var practicePlatforms = map[replica.Platform]struct {
	name string
	id   job.Platform
}{
	replica.Meet: {"Google Meet", job.Meet}, replica.Teams: {"Teams meeting", job.Teams}, replica.Zoom: {"Zoom meeting", job.ZoomWeb},
	practiceStreams: {"Zoom's media streams", job.ZoomSDK},
}

// practiceStreams is Zoom without a browser.
const practiceStreams replica.Platform = "zoom-sdk"

// practiceMeeting is a meeting in which people talk.
type practiceMeeting interface {
	URL() string
	Converse(ctx context.Context) error
	End() int
}

// practiceCommand runs the service with a meeting on this machine.
type practiceCommand struct {
	Platform  []replica.Platform `default:"meet" enum:"meet,teams,zoom,zoom-sdk" placeholder:"PLATFORM" help:"Platforms to open a meeting of: meet, teams, zoom, or zoom-sdk for Zoom's media streams. The first bot visits the first."`
	Break     []string           `placeholder:"BUTTON" help:"Rename buttons of the meeting pages, so that bots do not find them until you mend the profile: captions, chat, join, leave or people."`
	Once      bool               `help:"Record once for --seconds, print where the recording is, and exit."`
	Seconds   int                `default:"20" help:"How long --once records, in seconds."`
	NoBrowser bool               `help:"Do not open the page of the bot in your browser."`
	DataDir   string             `default:"standin-practice" placeholder:"DIR" help:"Directory of the database and the recordings. They are kept."`
	Listen    string             `default:"127.0.0.1:0" help:"Address of the service; port 0 picks a free one."`
	Bots      launch.BotSettings `embed:""`
}

// Help describes the command.
func (practiceCommand) Help() string {
	return "People on this machine talk in a meeting that stays open, and a bot records it. Watch the bot, join the meeting in your browser, " +
		"and use the API with the printed key. Nothing leaves this machine."
}

// practice is a running practice.
type practice struct {
	practiceCommand
	to       terminal
	log      *slog.Logger
	replica  *replica.Server
	meetings []practiceMeeting
	hostKey  string
	speech   *speechserver.Engine
	service  *service.Service
	key      string
	api      *client.Client
	addApps  func(context.Context) error // of Zoom
	team     account.Consumer
	started  time.Time
}

// Run opens the meetings, starts the service, and sends a bot.
func (c *practiceCommand) Run(ctx context.Context, to terminal) (err error) {
	if c.Seconds < 1 || c.Seconds > 3600 {
		return errors.New("--seconds must be between 1 and 3600")
	}
	p := &practice{practiceCommand: *c, to: to, hostKey: rand.Text(), speech: speechserver.New(), started: time.Now(),
		addApps: func(context.Context) error { return nil },
	}
	if p.DataDir, err = filepath.Abs(c.DataDir); err != nil {
		return fmt.Errorf("find the data directory: %w", err)
	}
	if err := os.MkdirAll(p.DataDir, 0o700); err != nil {
		return fmt.Errorf("create the data directory: %w", err)
	}
	logFile, err := os.OpenFile(filepath.Join(p.DataDir, "standin.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open the log: %w", err)
	}
	defer logFile.Close()
	p.log = slog.New(slog.NewTextHandler(logFile, &slog.HandlerOptions{Level: slog.LevelDebug}))
	running, stop := context.WithCancel(context.WithoutCancel(ctx)) // also while the bots leave
	var talking sync.WaitGroup
	defer talking.Wait()
	defer stop()
	if p.replica, err = replica.Start(running, replica.Options{LocalNames: true, Log: p.log}); err != nil {
		return fmt.Errorf("open the meeting: %w", err)
	}
	defer func() { err = errors.Join(err, p.replica.Close()) }()
	for _, platform := range c.Platform {
		meeting, err := p.openMeeting(platform)
		if err != nil {
			return err
		}
		p.meetings = append(p.meetings, meeting)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen for speech: %w", err)
	}
	speechServer := &http.Server{
		Handler: p.speech.Handler(), ReadHeaderTimeout: 10 * time.Second, BaseContext: func(net.Listener) context.Context { return running },
	}
	context.AfterFunc(running, func() { _ = speechServer.Close() })
	talking.Go(func() { _ = speechServer.Serve(listener) }) // until running ends
	if err := p.startService(ctx, "http://"+listener.Addr().String()); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.service.Close()) }()
	if err := p.addApps(ctx); err != nil {
		return err
	}
	for _, meeting := range p.meetings {
		talking.Go(func() {
			if err := meeting.Converse(running); err != nil {
				p.log.Error("the people of the meeting stopped talking", "error", err)
			}
		})
	}
	first, _, err := p.api.CreateJob(ctx, client.NewJob{
		ExternalID: "practice-" + time.Now().UTC().Format("20060102T150405.000"), MeetingURL: p.meetings[0].URL(),
		Platform: string(practicePlatforms[c.Platform[0]].id), Recording: &client.Recording{ParticipantAudio: new(true)},
		Options: client.Options{
			Title: "Launch of the new website", Captions: &client.TextOptions{Enabled: new(true), Language: "en"}, Chat: new(true),
			Output: &client.OutputOptions{},
		},
	})
	if err != nil {
		return err
	}
	if c.Once {
		return p.recordOnce(ctx, first.ID)
	}
	return p.invite(ctx, first.ID)
}

// openMeeting opens a meeting in which three people talk.
func (p *practice) openMeeting(platform replica.Platform) (practiceMeeting, error) {
	if platform == practiceStreams {
		return p.openStreams()
	}
	renamed, err := replica.Rename(p.Break)
	if err != nil {
		return nil, err
	}
	settings := replica.Settings{
		AdmitAfter: 2 * time.Second, // in the lobby, while no host is in the meeting
		Platform:   platform, Relay: true, HostKey: p.hostKey, Renamed: renamed,
		Participants: replica.People(),
	}
	if speechserver.Recognizer() != "" {
		settings.Recognize = func(ctx context.Context, path string) (string, error) {
			file, err := os.Open(path)
			if err != nil {
				return "", err
			}
			defer file.Close()
			text, _, err := p.speech.Recognize(ctx, file)
			return text, err
		}
	}
	meeting, err := p.replica.Open(settings)
	if err != nil {
		return nil, fmt.Errorf("open the meeting: %w", err)
	}
	return meeting, nil
}

// openStreams opens a meeting whose media streams Zoom's replica sends.
func (p *practice) openStreams() (practiceMeeting, error) {
	zoom, err := rtmsdouble.Start()
	if err != nil {
		return nil, fmt.Errorf("open the media streams: %w", err)
	}
	trusted := filepath.Join(p.DataDir, "zoom.pem") // by the bots
	if err := errors.Join(os.WriteFile(trusted, zoom.Certificate(), 0o600), os.Setenv("SSL_CERT_FILE", trusted)); err != nil {
		return nil, fmt.Errorf("open the media streams: %w", err)
	}
	conversation, err := zoom.Prepare()
	if err != nil {
		return nil, err
	}
	token := rand.Text()
	p.addApps = func(ctx context.Context) error { // in place of those of an earlier practice
		for app, err := range p.api.ZoomApps(ctx) {
			if err == nil {
				err = p.api.DeleteZoomApp(ctx, app.ID)
			}
			if err != nil {
				return err
			}
		}
		_, err := p.api.CreateZoomApp(ctx, client.NewZoomApp{
			ClientID: rtmsdouble.ClientID, ClientSecret: rtmsdouble.Secret, SecretToken: token,
		})
		return err
	}
	conversation.Tell = func(ctx context.Context, event string, m *rtmsdouble.Meeting) error {
		stream := m.Stream()
		body, err := json.Marshal(map[string]any{"event": event, "payload": map[string]any{
			"meeting_uuid": stream.MeetingUUID, "meeting_id": rtmsdouble.Number, "rtms_stream_id": stream.StreamID, "server_urls": stream.ServerURLs,
		}})
		if err != nil {
			return err
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.service.BaseURL()+"/webhooks/zoom", bytes.NewReader(body))
		if err != nil {
			return err
		}
		timestamp := strconv.FormatInt(time.Now().Unix(), 10)
		request.Header.Set("X-Zm-Request-Timestamp", timestamp)
		request.Header.Set("X-Zm-Signature", "v0="+zoomstream.Sign(token, "v0:"+timestamp+":"+string(body)))
		response, err := http.DefaultClient.Do(request)
		if err == nil {
			err = response.Body.Close()
		}
		return err
	}
	return conversation, nil
}

// startService starts the service, with a key for its team.
func (p *practice) startService(ctx context.Context, speechURL string) (err error) {
	executable, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the standin executable: %w", err)
	}
	p.Bots.NoSandbox = p.Bots.NoSandbox || os.Geteuid() == 0
	settings := service.Settings{
		Listen: p.Listen, DataSettings: service.DataSettings{DataDir: p.DataDir}, Executable: executable, Bots: p.Bots,
		Dispatch: dispatch.Options{AllowedMeetingHosts: []string{strings.TrimPrefix(p.replica.URL(), "http://")}, LoopbackMeetings: true},
		MaxBots:  4, Log: p.log,
	}
	if speechserver.Voice() != "" {
		settings.Speech = speech.Config{URL: speechURL}
	}
	if speechserver.Recognizer() != "" {
		settings.Transcriber = transcript.Config{URL: speechURL}
		settings.Live = streaming.Config{Protocol: streaming.OpenAIHTTP, URL: speechURL}
	}
	if p.service, err = service.Start(ctx, settings); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.service.Close())
		}
	}()
	issued, key, err := p.service.Keys.Issue(ctx, "practice", "", job.Live)
	if err != nil {
		return err
	}
	if p.team, err = p.service.Store().Consumer(ctx, issued.ConsumerID); err != nil {
		return err
	}
	p.key = key
	p.api, err = client.New(p.service.BaseURL(), key)
	return err
}

// recordOnce lets the bot record for a while.
func (p *practice) recordOnce(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute+time.Duration(p.Seconds)*time.Second)
	defer cancel()
	var after *time.Timer
	for event, err := range p.api.Live(ctx, id, "") {
		if err != nil {
			return err
		}
		var state struct{ Status job.Status }
		if event.Name != "state" || json.Unmarshal(event.Data, &state) != nil {
			continue
		}
		fmt.Fprintf(p.to.Err, "%s  %s\n", time.Now().Format(time.TimeOnly), state.Status)
		if state.Status == job.RecordingStarted && after == nil {
			after = time.AfterFunc(time.Duration(p.Seconds)*time.Second, func() { p.meetings[0].End() })
			defer after.Stop()
		}
	}
	ended, err := p.api.WaitUntilDone(ctx, id, time.Second)
	if err != nil {
		return err
	}
	if ended.Status != string(job.Completed) {
		return fmt.Errorf("the job is %s: %s", ended.Status, oneLine(deref(ended.FailureDetail)))
	}
	name := "recording.mp4"
	if p.Platform[0] == practiceStreams {
		name = "recording.m4a" // the picture is composed while a service runs
	}
	return p.to.println(filepath.Join(p.DataDir, "recordings", "jobs", id, "media", name))
}

// invite prints what one can do, and waits. At the end it ends the meetings and waits until the bots have finished their
// recordings.
func (p *practice) invite(ctx context.Context, id string) error {
	link, err := p.service.SignInLink(ctx, p.team, "/jobs/"+id)
	if err != nil {
		return fmt.Errorf("create the dashboard link: %w", err)
	}
	program := "standin"
	if strings.ContainsRune(os.Args[0], filepath.Separator) {
		program = os.Args[0]
	}
	w := p.to.Out
	fmt.Fprintf(w, "\nA meeting is open on this machine, and a bot is on its way to it. Nothing leaves this machine.\n\n")
	fmt.Fprintf(w, "Watch the bot, signed in:\n  %s\n\n", link)
	for i, meeting := range p.meetings {
		if page, ok := meeting.(*replica.Meeting); ok {
			fmt.Fprintf(w, "Join the %s as its host: talk, and admit or remove bots:\n  %s/practice/%s#%s\n\n",
				practicePlatforms[p.Platform[i]].name, p.replica.URL(), page.Code(), p.hostKey)
		}
	}
	fmt.Fprintf(w, "Use the API, in another terminal:\n  export STANDIN_URL=%s STANDIN_API_KEY=%s\n", p.service.BaseURL(), p.key)
	for i, meeting := range p.meetings {
		output := " --allow-output"
		if p.Platform[i] == practiceStreams {
			output = ""
		}
		fmt.Fprintf(w, "  %s jobs create %s --platform %s --captions%s\n", program, meeting.URL(), practicePlatforms[p.Platform[i]].id, output)
	}
	if p.Platform[0] != practiceStreams {
		fmt.Fprintf(w, "  %s jobs speak %s \"Hello, I am taking notes.\"\n", program, id)
	}
	fmt.Fprintf(w, "  %s jobs listen %s | ffplay -f s16le -ar 16000 -i -\n\n", program, id)
	if speechserver.Voice() == "" {
		fmt.Fprintf(w, "Bots cannot speak texts: install flite or espeak-ng.\n\n")
	}
	if speechserver.Recognizer() == "" {
		fmt.Fprintf(w, "What you say is not recognized: install pocketsphinx and pocketsphinx-en-us.\n\n")
	}
	fmt.Fprintf(w, "Recordings and the log are in %s. To end, press Ctrl-C.\n", p.DataDir)
	if !p.NoBrowser && (os.Getenv("DISPLAY") != "" || os.Getenv("WAYLAND_DISPLAY") != "") {
		openBrowser(link)
	}
	select {
	case <-ctx.Done():
	case err := <-p.service.Failed():
		return err
	}
	fmt.Fprintln(p.to.Err, "\nEnding the meetings, and finishing the recordings …")
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	for _, meeting := range p.meetings {
		meeting.End()
	}
	for one, err := range p.api.Jobs(ctx, client.JobFilter{CreatedFrom: p.started}) {
		if err != nil {
			return err
		}
		if one.Ended() || one.Status == "scheduled" { // for another day
			continue
		}
		if _, err := p.api.WaitUntilDone(ctx, one.ID, time.Second); err != nil {
			return errors.Join(err, p.api.CancelJob(context.WithoutCancel(ctx), one.ID))
		}
	}
	return nil
}
