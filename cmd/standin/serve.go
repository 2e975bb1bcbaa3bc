package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"standin/internal/dispatch"
	"standin/internal/httpmw"
	"standin/internal/mail"
	"standin/internal/retention"
	"standin/internal/service"
)

// dataFlags locate the data directory and the database.
type dataFlags struct {
	DataDir     string `env:"STANDIN_DATA_DIR" default:"./data" help:"Directory for the database, recordings and bots; created with mode 0700."`
	DatabaseURL string `env:"STANDIN_DATABASE_URL" placeholder:"postgres://…" help:"PostgreSQL database, for several nodes. Default: a SQLite file in the data directory."`
}

// storageFlags locate the recordings.
type storageFlags struct {
	StorageURL string `env:"STANDIN_STORAGE_URL" placeholder:"s3://…" help:"Storage for recordings: file:///directory or s3://bucket. Default: a directory in the data directory."`
}

type serveCommand struct {
	dataFlags
	logFlags
	botFlags
	Listen        string `env:"STANDIN_LISTEN" default:"127.0.0.1:8080" help:"Address and port to listen on; port 0 picks a free one and prints it."`
	BaseURL       string `env:"STANDIN_BASE_URL" help:"URL at which consumers reach the service. Default: http://<listen>."`
	BotServiceURL string `env:"STANDIN_BOT_SERVICE_URL" help:"URL at which bots reach the service. Default: http://<listen>."`
	storageFlags
	launcherFlags

	ManifestPrefixes []string `env:"STANDIN_MANIFEST_PREFIXES" placeholder:"https://…" help:"URLs below which bots may store manifests, in addition to the base URL. Default: none."`

	NodeName           string             `env:"STANDIN_NODE_NAME" help:"Display name of this node. Default: the host name."`
	MaxBots            int                `env:"STANDIN_MAX_BOTS" default:"0" help:"Maximum number of bots on this node; 0 derives it from the cores and memory of the machine or container."`
	MaxBotsPerConsumer int                `env:"STANDIN_MAX_BOTS_PER_CONSUMER" name:"max-bots-per-consumer" default:"0" help:"Maximum number of bots that a consumer may run at a time, on all nodes; 0 is no limit."`
	BotCores           float64            `env:"STANDIN_BOT_CORES" default:"1.0" help:"CPU cores reserved per bot when the node's capacity is derived."`
	BotMemory          float64            `env:"STANDIN_BOT_MEMORY_GB" name:"bot-memory-gb" default:"1.0" help:"Memory reserved per bot when the node's capacity is derived, in GiB."`
	Prelaunch          dispatch.Prelaunch `env:"STANDIN_PRELAUNCH" default:"auto" help:"How long before joinAt bots are launched, so that their browsers are ready in time: auto (the recent launch time of this node's bots), a duration such as 5s, or 0."`
	Lease              time.Duration      `env:"STANDIN_LEASE" default:"30s" help:"Lease duration: other nodes take over a node's work when it has not renewed its lease for this long. Use the same value on all nodes."`

	MetricsListen string `env:"STANDIN_METRICS_LISTEN" placeholder:"127.0.0.1:9090" help:"Separate listener that serves only /metrics, without authentication. Default: none."`
	Profiling     bool   `env:"STANDIN_PROFILING" help:"Serve CPU, memory and other profiles of this process at /debug/pprof on the metrics listener, without authentication."`
	MetricsSecret string `env:"STANDIN_METRICS_SECRET" help:"Bearer token for /metrics on the main listener; the admin secret is accepted too. Prefer the environment variable."`

	BotTokenLifetime time.Duration `env:"STANDIN_BOT_TOKEN_LIFETIME" default:"24h" help:"How long a bot's token works after its job has ended: the time to upload the rest of a recording."`
	UploadQuota      int64         `env:"STANDIN_UPLOAD_QUOTA" default:"0" placeholder:"MIB" help:"How many MiB the bots of one job may upload; 0 derives it from the job's afterMaxSeconds and the bit rates."`

	Retention    retention.Period `env:"STANDIN_RETENTION" default:"forever" help:"How long recordings are kept after the meeting, such as 30d or 720h; standin consumers set overrides it for one consumer."`
	JobRetention retention.Period `env:"STANDIN_JOB_RETENTION" default:"90d" help:"How long jobs are kept after their end, with their timelines, metadata and webhook deliveries, such as 90d or forever. A job whose recording is kept stays as long as the recording. standin consumers set overrides it for one consumer."`

	IngestSigningKey        string `env:"STANDIN_INGEST_SIGNING_KEY" help:"Key that signs bot tokens. Default: generated once and stored with mode 0600 in the data directory; required with PostgreSQL. Prefer the environment variable."`
	WebhookSecret           string `env:"STANDIN_WEBHOOK_SECRET" help:"Webhook secret for new consumers. Default: a random secret for each. Prefer the environment variable."`
	WebhookAllowCIDRs       string `env:"STANDIN_WEBHOOK_ALLOW_CIDRS" name:"webhook-allow-cidrs" help:"Networks that webhooks may reach in addition to the public internet, comma-separated. Default: loopback when both the listener and the host of the base URL are loopback addresses, else none."`
	WebhookPrivateResponses bool   `env:"STANDIN_WEBHOOK_PRIVATE_RESPONSES" help:"Store response bodies of webhook destinations that are not public. Default: only status and latency of these are stored."`
	WebhookProxy            string `env:"STANDIN_WEBHOOK_PROXY" placeholder:"http://…" help:"Forward proxy for webhooks; the proxy must then block private networks. Default: none; proxy environment variables are ignored."`

	IntakeSecret         string      `env:"STANDIN_INTAKE_SECRET" help:"Secret for calendar intake, sent in the x-service-intake-secret header. Default: none; calendar intake answers 401. Prefer the environment variable."`
	AdminSecret          string      `env:"STANDIN_ADMIN_SECRET" help:"Secret for the admin endpoints, sent in the x-service-admin-secret header. Default: none; they answer 401. Prefer the environment variable."`
	PaymentWebhookSecret string      `env:"STANDIN_PAYMENT_WEBHOOK_SECRET" help:"Signing secret of the payment provider's webhooks. Default: none; the endpoint answers 503. Prefer the environment variable."`
	FreeTierJobs         int         `env:"STANDIN_FREE_TIER_JOBS" default:"0" help:"Jobs per calendar month (UTC) that calendar invites may create for a consumer without a plan; 0 means unlimited."`
	RateLimit            httpmw.Rate `env:"STANDIN_RATE_LIMIT" default:"off" help:"Rate limit per API key, such as 600/1m, or off."`
	TrustedProxies       int         `env:"STANDIN_TRUSTED_PROXIES" default:"0" help:"Number of reverse proxies in front of the service. With N, the client address is the Nth entry of X-Forwarded-For from the end; with 0, that of the connection."`

	OIDCIssuer           string `env:"STANDIN_OIDC_ISSUER" name:"oidc-issuer" placeholder:"https://…" help:"OpenID Connect provider for dashboard sign-in; the redirect URI is {base_url}/signin/oidc/callback. Default: none."`
	OIDCClientID         string `env:"STANDIN_OIDC_CLIENT_ID" name:"oidc-client-id" help:"OpenID Connect client ID."`
	OIDCClientSecret     string `env:"STANDIN_OIDC_CLIENT_SECRET" name:"oidc-client-secret" help:"OpenID Connect client secret. Prefer the environment variable."`
	OIDCClientSecretFile string `env:"STANDIN_OIDC_CLIENT_SECRET_FILE" name:"oidc-client-secret-file" type:"existingfile" help:"File with the OpenID Connect client secret."`

	transcriberFlags
	tracingFlags

	Mail      bool `env:"STANDIN_MAIL" help:"Receive calendar invitations by mail in this process. On several nodes set it for one. See docs/mail.md."`
	mailFlags `embed:"" prefix:"mail-"`

	AllowedMeetingHosts     []string `env:"STANDIN_ALLOWED_MEETING_HOSTS" help:"Hosts that bots may open in addition to the meeting platforms' hosts."`
	LoopbackMeetings        bool     `env:"STANDIN_LOOPBACK_MEETINGS" help:"Allow meetings on this machine to send media over loopback. For replicas only."`
	RequireRecordingConsent bool     `env:"STANDIN_REQUIRE_RECORDING_CONSENT" help:"Record only with the host's permission. A job can request this with the metadata recordingPermission \"required\"."`
}

// Run serves until a signal arrives.
func (c *serveCommand) Run(ctx context.Context, to terminal) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the standin binary: %w", err)
	}
	log := c.logger(to.Err)
	oidc, err := c.oidc()
	if err != nil {
		return err
	}
	engines, err := c.engines()
	if err != nil {
		return err
	}
	transcriber, err := c.transcriberSettings()
	if err != nil {
		return err
	}
	traces, err := c.tracing()
	if err != nil {
		return err
	}
	if c.Mail && c.IntakeSecret == "" {
		c.IntakeSecret = rand.Text() // only this process uses it
	}
	s, err := service.Start(ctx, service.Settings{
		Docker: engines.Docker, Kubernetes: engines.Kubernetes, StartTimeout: c.StartTime,
		Listen: c.Listen, BaseURL: c.BaseURL, BotServiceURL: c.BotServiceURL,
		DataDir: c.DataDir, DatabaseURL: c.DatabaseURL, StorageURL: c.StorageURL, Launcher: c.Launcher, Retention: c.Retention, JobRetention: c.JobRetention,
		BotTokenLifetime: c.BotTokenLifetime, UploadQuota: c.UploadQuota << 20,
		NodeName: c.NodeName, MaxBots: c.MaxBots, MaxBotsPerConsumer: c.MaxBotsPerConsumer, BotResources: dispatch.BotResources{Cores: c.BotCores, Memory: uint64(max(0, c.BotMemory) * (1 << 30))},
		Prelaunch: c.Prelaunch, Lease: c.Lease, MetricsListen: c.MetricsListen, Profiling: c.Profiling, MetricsSecret: c.MetricsSecret,
		IngestSigningKey: c.IngestSigningKey, WebhookSecret: c.WebhookSecret, WebhookAllowCIDRs: c.WebhookAllowCIDRs, WebhookProxy: c.WebhookProxy,
		WebhookPrivateResponses: c.WebhookPrivateResponses,
		IntakeSecret:            c.IntakeSecret, AdminSecret: c.AdminSecret, PaymentWebhookSecret: c.PaymentWebhookSecret,
		FreeTierJobs: c.FreeTierJobs, RateLimit: c.RateLimit, TrustedProxies: httpmw.TrustedProxies(c.TrustedProxies),
		ManifestPrefixes: trimmed(c.ManifestPrefixes), OIDC: oidc, Transcriber: transcriber, Tracing: traces, AllowedMeetingHosts: trimmed(c.AllowedMeetingHosts), LoopbackMeetings: c.LoopbackMeetings,
		Executable: self, Bots: c.botSettings(c.logFlags), RequirePermission: c.RequireRecordingConsent, Log: log,
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(to.Out, "standin %s listening on http://%s\n", version(), s.Addr())
	if err := printFirstUserLink(ctx, to.Out, s); err != nil {
		return errors.Join(err, s.Close())
	}
	if c.Mail {
		return c.serveMail(ctx, to, s, log)
	}
	return waitAndClose(ctx, s, log)
}

// serveMail runs the mail worker beside the service.
func (c *serveCommand) serveMail(ctx context.Context, to terminal, s *service.Service, log *slog.Logger) error {
	settings, err := c.settings(c.DataDir, "http://"+s.Addr(), s.BaseURL(), c.IntakeSecret, log)
	if err != nil {
		return errors.Join(err, s.Close())
	}
	w, err := mail.Open(ctx, settings)
	if err != nil {
		return errors.Join(err, s.Close())
	}
	if address := w.SMTPAddr(); address != "" {
		fmt.Fprintf(to.Out, "standin mail receiving on %s\n", address)
	}
	ctx, stop := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := w.Run(ctx); err != nil {
			stop(fmt.Errorf("mail worker: %w", err))
		}
	}()
	err = waitAndClose(ctx, s, log)
	failure := context.Cause(ctx)
	stop(nil)
	<-done
	if errors.Is(failure, context.Canceled) {
		failure = nil // a signal
	}
	return errors.Join(err, failure, w.Close())
}

// waitAndClose waits for a signal or a failure, and closes the service.
func waitAndClose(ctx context.Context, s *service.Service, log *slog.Logger) error {
	select {
	case <-ctx.Done():
		log.Info("shutting down: open requests are finished, running bots keep running; a second signal stops at once")
		return s.Close()
	case err := <-s.Failed():
		return errors.Join(err, s.Close())
	}
}

// trimmed returns the entries without surrounding spaces, dropping empty ones.
func trimmed(entries []string) []string {
	var result []string
	for _, entry := range entries {
		if entry = strings.TrimSpace(entry); entry != "" {
			result = append(result, entry)
		}
	}
	return result
}
