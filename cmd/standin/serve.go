package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"standin/internal/httpapi/ratelimit"
	"standin/internal/retention"
	"standin/internal/service"
)

// dataFlags say where everything is kept.
type dataFlags struct {
	DataDir     string `env:"STANDIN_DATA_DIR" default:"./data" help:"Folder for the database, recordings and bots; made 0700."`
	DatabaseURL string `env:"STANDIN_DATABASE_URL" placeholder:"postgres://…" help:"PostgreSQL for several nodes. Default: a SQLite file in the data folder."`
}

// storageFlags say where recordings are kept.
type storageFlags struct {
	StorageURL string `env:"STANDIN_STORAGE_URL" placeholder:"s3://…" help:"Where recordings are kept: file:///folder or s3://bucket. Default: a folder in the data folder."`
}

type serveCommand struct {
	dataFlags
	logFlags
	setupFlags
	Listen        string `env:"STANDIN_LISTEN" default:"127.0.0.1:8080" help:"Address and port to listen on; port 0 picks a free one and prints it."`
	BaseURL       string `env:"STANDIN_BASE_URL" help:"How consumers reach the service. Default: http://<listen>."`
	BotServiceURL string `env:"STANDIN_BOT_SERVICE_URL" help:"How bots reach the service. Default: http://<listen>."`
	storageFlags
	Launcher string `env:"STANDIN_LAUNCHER" default:"process" enum:"process,manual" help:"How bots are started: process, or manual (the operator runs them)."`

	Retention retention.Period `env:"STANDIN_RETENTION" default:"forever" help:"How long recordings are kept after their meeting, as in 30d or 720h; standin consumers set gives a consumer its own."`

	IngestSigningKey  string `env:"STANDIN_INGEST_SIGNING_KEY" help:"Key of the bots' tokens. Default: made once, kept 0600 in the data folder; required with PostgreSQL. Better in the environment than on the command line."`
	WebhookSecret     string `env:"STANDIN_WEBHOOK_SECRET" help:"Webhook secret of new consumers. Default: each gets its own. Better in the environment than on the command line."`
	WebhookAllowCIDRs string `env:"STANDIN_WEBHOOK_ALLOW_CIDRS" name:"webhook-allow-cidrs" help:"Networks that webhooks may go to beside the public internet, comma-separated. Default: loopback when the service itself listens on loopback, else none."`

	IntakeSecret         string         `env:"STANDIN_INTAKE_SECRET" help:"Secret of calendar intake, in the header x-service-intake-secret. Default: none, and the surface answers 401. Better in the environment than on the command line."`
	AdminSecret          string         `env:"STANDIN_ADMIN_SECRET" help:"Secret of the operator's surface, in the header x-service-admin-secret. Default: none, and the surface answers 401. Better in the environment than on the command line."`
	PaymentWebhookSecret string         `env:"STANDIN_PAYMENT_WEBHOOK_SECRET" help:"Signing secret of the payment provider's events. Default: none, and they are answered 503. Better in the environment than on the command line."`
	FreeTierJobs         int            `env:"STANDIN_FREE_TIER_JOBS" default:"0" help:"Jobs that calendar invites may make in a calendar month (UTC) for a consumer without a plan; 0 is no bound."`
	RateLimit            ratelimit.Rate `env:"STANDIN_RATE_LIMIT" default:"off" help:"Requests that each API key may make in a time, as in 600/1m, or off."`
	TrustedProxies       string         `env:"STANDIN_TRUSTED_PROXIES" help:"Networks of proxies whose X-Forwarded-For or Forwarded tells the client's address, comma-separated. Default: none."`

	AllowedMeetingHosts []string `env:"STANDIN_ALLOWED_MEETING_HOSTS" help:"Hosts that bots may open beside the platforms' own."`
	LoopbackMeetings    bool     `env:"STANDIN_LOOPBACK_MEETINGS" help:"Let meetings on this machine send media over loopback: for replicas."`
	AskFirst            bool     `env:"STANDIN_ASK_FIRST" help:"Record only with the host's permission, as a job with the metadata recordingPermission \"required\" does by itself."`
}

// Run serves until a signal ends it.
func (c *serveCommand) Run(ctx context.Context, to terminal) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the standin binary: %w", err)
	}
	log := c.logger(to.err)
	s, err := service.Start(ctx, service.Settings{
		Listen: c.Listen, BaseURL: c.BaseURL, BotServiceURL: c.BotServiceURL,
		DataDir: c.DataDir, DatabaseURL: c.DatabaseURL, StorageURL: c.StorageURL, Launcher: c.Launcher, Retention: c.Retention,
		IngestSigningKey: c.IngestSigningKey, WebhookSecret: c.WebhookSecret, WebhookAllowCIDRs: c.WebhookAllowCIDRs,
		IntakeSecret: c.IntakeSecret, AdminSecret: c.AdminSecret, PaymentWebhookSecret: c.PaymentWebhookSecret,
		FreeTierJobs: c.FreeTierJobs, RateLimit: c.RateLimit, TrustedProxies: c.TrustedProxies,
		AllowedMeetingHosts: trimmed(c.AllowedMeetingHosts), LoopbackMeetings: c.LoopbackMeetings,
		Executable: self, Bots: c.setup(), AskFirst: c.AskFirst, Log: log,
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(to.out, "standin %s serves on http://%s\n", version(), s.Addr())
	select {
	case <-ctx.Done():
		log.Info("stopping: no new work, running requests are finished, running bots go on; a second signal stops at once")
		return s.Close()
	case err := <-s.Failed():
		return errors.Join(err, s.Close())
	}
}

// trimmed drops empty entries and spaces around the others.
func trimmed(entries []string) []string {
	var kept []string
	for _, entry := range entries {
		if entry = strings.TrimSpace(entry); entry != "" {
			kept = append(kept, entry)
		}
	}
	return kept
}
