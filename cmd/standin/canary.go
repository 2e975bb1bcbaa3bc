package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"standin/internal/base/dialguard"
	"standin/internal/base/meetinglink"
	"standin/internal/bot/browser"
	"standin/internal/bot/session"
	"standin/internal/jobs/job"
	"standin/internal/jobs/webhook"
	"standin/internal/launch"
	"standin/internal/operation/pagecheck"
	"standin/internal/replica"
)

type canaryCommand struct {
	launch.LogSettings
	Meeting  string        `env:"STANDIN_CANARY_MEETING" required:"" help:"URL of a meeting that you own and that admits the bot. It may contain a passcode; prefer the environment variable."`
	Platform job.Platform  `help:"Platform of the meeting. Default: detected from the URL."`
	Name     string        `default:"Standin" help:"Name shown to other participants."`
	Every    time.Duration `default:"15m" help:"Time from the start of one visit to the start of the next, at least 1m."`
	Once     bool          `help:"Visit once and exit with code 0 if the pages match the profile, otherwise 1. For cron."`
	Wait     time.Duration `default:"60s" help:"How long the bot waits to be admitted."`
	Captures string        `placeholder:"DIR" help:"Directory for captures of pages that do not match; the newest 20 are kept. Default: none are kept."`
	JSON     bool          `help:"Print each report as JSON."`

	MetricsListen string   `placeholder:"ADDRESS" help:"Serve Prometheus metrics at /metrics on this address and port. Default: none."`
	Webhook       string   `env:"STANDIN_ALERT_WEBHOOK" placeholder:"URL" help:"URL that receives canary.mismatch and canary.match."`
	Secret        string   `env:"STANDIN_ALERT_WEBHOOK_SECRET" help:"Secret that signs the webhooks. Set it in the environment: arguments are visible to other users of the machine."`
	AlertMail     []string `env:"STANDIN_ALERT_MAIL" placeholder:"ops@example.com,…" help:"Addresses that mismatches are mailed to, through --reply-url. Default: none."`
	replyFlags
	AllowCIDRs string `env:"STANDIN_WEBHOOK_ALLOW_CIDRS" name:"webhook-allow-cidrs" help:"Private networks that the webhook may reach, comma-separated."`

	visitFlags
	SignIn        string   `env:"STANDIN_SIGN_IN" placeholder:"DIR" help:"Folder with cookies or a browser profile. Default: join as a guest."`
	AllowedHosts  []string `env:"STANDIN_ALLOWED_MEETING_HOSTS" help:"Hosts that may be opened in addition to the platforms' hosts."`
	LoopbackPeers bool     `env:"STANDIN_LOOPBACK_MEETINGS" help:"Let the meeting send media over loopback: for replicas."`
}

// Help describes a visit.
func (canaryCommand) Help() string {
	return "Sends two bots into a meeting at intervals, and compares what the pages show with the profile. The second one, the companion, shows a " +
		"test card, speaks, writes and leaves; the first one checks that its page shows that, and leaves by the page's own control. Nothing is " +
		"recorded. The pages do not match when a bot is not admitted, when an element or what the companion did is missing, or when only a later " +
		"candidate finds an element than before."
}

// minEvery is the shortest interval, out of courtesy to the platforms.
const minEvery = time.Minute

// Validate checks the flags. Kong calls it.
func (c *canaryCommand) Validate() error {
	switch {
	case !c.Once && c.Every < minEvery:
		return fmt.Errorf("--every is %v, less than %v", c.Every, minEvery)
	case c.Webhook != "" && c.Secret == "":
		return errors.New("--webhook needs a secret in STANDIN_ALERT_WEBHOOK_SECRET")
	case len(c.AlertMail) > 0 && c.ReplyURL == "":
		return errors.New("--alert-mail needs a mail host in --reply-url")
	}
	return nil
}

// Run visits the meeting once or until a signal.
func (c *canaryCommand) Run(ctx context.Context, to terminal) error {
	if err := browser.CheckSandbox(c.NoSandbox); err != nil {
		return err
	}
	platform := cmp.Or(c.Platform, meetinglink.PlatformOf(c.Meeting))
	allow, err := dialguard.ParseNetworks(c.AllowCIDRs)
	if err != nil {
		return fmt.Errorf("STANDIN_WEBHOOK_ALLOW_CIDRS: %w", err)
	}
	var send func(ctx context.Context, subject, body string) error
	if len(c.AlertMail) > 0 {
		reply, err := c.replySettings("")
		if err == nil {
			err = reply.Check()
		}
		if err != nil {
			return err
		}
		send = func(ctx context.Context, subject, body string) error {
			return reply.Send(ctx, c.AlertMail, subject, body)
		}
	}
	signedIn, err := browser.ReadAccount(c.SignIn, string(platform))
	if err != nil {
		return err
	}
	autoLeave := job.DefaultAutoLeave()
	autoLeave.AfterEntryDelaySeconds = int(c.Wait.Seconds())
	log := c.Logger(to.Err)
	settings := pagecheck.CanarySettings{
		Bot: session.Settings{
			BotConfig: launch.BotConfig{
				Assignment: launch.Assignment{
					MeetingURL: c.Meeting, Platform: platform, DisplayName: c.Name, AutoLeave: autoLeave, AllowedHosts: c.AllowedHosts,
					LoopbackPeers: c.LoopbackPeers,
				},
				BotSettings: launch.BotSettings{
					Browser: c.Browser, BrowserMode: c.BrowserMode, NoSandbox: c.NoSandbox, Profiles: c.Profiles,
				},
			},
			Version: version(), Account: signedIn, Log: log,
		},
		Every: c.Every, Captures: c.Captures, Webhook: c.Webhook, Secret: webhook.Secret{Value: c.Secret}, Allow: allow, Mail: send, Log: log,
		Visited: func(report *pagecheck.Report) {
			if c.JSON {
				_ = printJSON(to.Out, report)
				return
			}
			_ = report.WriteText(to.Out)
		},
	}
	if settings.Speech, err = replica.Voice(ctx); err != nil {
		return err
	}
	watcher := pagecheck.NewCanary(settings)
	if c.MetricsListen != "" {
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", c.MetricsListen)
		if err != nil {
			return errors.New("listen for metrics: " + err.Error()) // no advice about the service
		}
		mux := http.NewServeMux()
		mux.Handle("GET /metrics", watcher.Metrics())
		server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
		var serving sync.WaitGroup
		defer serving.Wait()
		defer server.Close()
		serving.Go(func() { _ = server.Serve(listener) }) // until it is closed
		fmt.Fprintf(to.Err, "metrics on http://%s/metrics\n", listener.Addr())
	}
	if !c.Once {
		return watcher.Run(ctx)
	}
	report, err := watcher.Visit(ctx)
	if err == nil && !report.Match {
		err = errors.New("the pages do not match the profile")
	}
	return err
}
