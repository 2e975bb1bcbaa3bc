package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"standin/internal/dispatch"
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
	launcherFlags

	NodeName   string             `env:"STANDIN_NODE_NAME" help:"This node's name, for people. Default: the machine's."`
	MaxBots    int                `env:"STANDIN_MAX_BOTS" default:"0" help:"Bots that this node runs at once; 0: as many as the machine, or its container, has cores and memory for."`
	BotCores   float64            `env:"STANDIN_BOT_CORES" default:"1.0" help:"Cores that a bot takes, to reckon how many fit."`
	BotMemory  float64            `env:"STANDIN_BOT_MEMORY_GB" name:"bot-memory-gb" default:"1.0" help:"Memory that a bot takes, in GB of 2^30 bytes, to reckon how many fit."`
	LaunchLead dispatch.Prelaunch `env:"STANDIN_LAUNCH_LEAD" default:"auto" help:"How long before joinAt bots are launched, so that their browsers are ready then: auto (as long as this node's bots took lately), a time such as 5s, or 0."`
	Lease      time.Duration      `env:"STANDIN_LEASE" default:"30s" help:"How long a node that shares its database may be unheard before others take over its work. The same on all nodes."`

	MetricsListen string `env:"STANDIN_METRICS_LISTEN" placeholder:"127.0.0.1:9090" help:"Address that shows metrics, and nothing else, to whoever can reach it. Default: none."`
	MetricsSecret string `env:"STANDIN_METRICS_SECRET" help:"Bearer token that shows /metrics on the service's own address, and nothing else; the admin secret does too. Better in the environment than on the command line."`

	Retention retention.Period `env:"STANDIN_RETENTION" default:"forever" help:"How long recordings are kept after their meeting, as in 30d or 720h; standin consumers set gives a consumer its own."`

	IngestSigningKey  string `env:"STANDIN_INGEST_SIGNING_KEY" help:"Key of the bots' tokens. Default: made once, kept 0600 in the data folder; required with PostgreSQL. Better in the environment than on the command line."`
	WebhookSecret     string `env:"STANDIN_WEBHOOK_SECRET" help:"Webhook secret of new consumers. Default: each gets its own. Better in the environment than on the command line."`
	WebhookAllowCIDRs string `env:"STANDIN_WEBHOOK_ALLOW_CIDRS" name:"webhook-allow-cidrs" help:"Networks that webhooks may go to beside the public internet, comma-separated. Default: loopback when the service itself listens on loopback, else none."`
	WebhookProxy      string `env:"STANDIN_WEBHOOK_PROXY" placeholder:"http://…" help:"Forward proxy that webhooks go through, which then has to guard the networks behind it. Default: none; the proxies of the environment are not used."`

	IntakeSecret         string         `env:"STANDIN_INTAKE_SECRET" help:"Secret of calendar intake, in the header x-service-intake-secret. Default: none, and the surface answers 401. Better in the environment than on the command line."`
	AdminSecret          string         `env:"STANDIN_ADMIN_SECRET" help:"Secret of the operator's surface, in the header x-service-admin-secret. Default: none, and the surface answers 401. Better in the environment than on the command line."`
	PaymentWebhookSecret string         `env:"STANDIN_PAYMENT_WEBHOOK_SECRET" help:"Signing secret of the payment provider's events. Default: none, and they are answered 503. Better in the environment than on the command line."`
	FreeTierJobs         int            `env:"STANDIN_FREE_TIER_JOBS" default:"0" help:"Jobs that calendar invites may make in a calendar month (UTC) for a consumer without a plan; 0 is no bound."`
	RateLimit            ratelimit.Rate `env:"STANDIN_RATE_LIMIT" default:"off" help:"Requests that each API key may make in a time, as in 600/1m, or off."`
	TrustedProxies       string         `env:"STANDIN_TRUSTED_PROXIES" help:"Networks of proxies whose X-Forwarded-For or Forwarded tells the client's address, comma-separated. Default: none."`

	OIDCIssuer           string `env:"STANDIN_OIDC_ISSUER" name:"oidc-issuer" placeholder:"https://…" help:"OpenID Connect provider that users of the dashboard may sign in at; its redirect URI is {base_url}/signin/oidc/callback. Default: none."`
	OIDCClientID         string `env:"STANDIN_OIDC_CLIENT_ID" name:"oidc-client-id" help:"The service's id there."`
	OIDCClientSecret     string `env:"STANDIN_OIDC_CLIENT_SECRET" name:"oidc-client-secret" help:"Its secret there. Better in the environment than on the command line."`
	OIDCClientSecretFile string `env:"STANDIN_OIDC_CLIENT_SECRET_FILE" name:"oidc-client-secret-file" type:"existingfile" help:"A file that holds the secret instead."`

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
	oidc, err := c.oidc()
	if err != nil {
		return err
	}
	engines, err := c.engines()
	if err != nil {
		return err
	}
	s, err := service.Start(ctx, service.Settings{
		Docker: engines.Docker, Kubernetes: engines.Kubernetes, StartTimeout: c.StartTime,
		Listen: c.Listen, BaseURL: c.BaseURL, BotServiceURL: c.BotServiceURL,
		DataDir: c.DataDir, DatabaseURL: c.DatabaseURL, StorageURL: c.StorageURL, Launcher: c.Launcher, Retention: c.Retention,
		NodeName: c.NodeName, MaxBots: c.MaxBots, BotResources: dispatch.BotResources{Cores: c.BotCores, Memory: uint64(max(0, c.BotMemory) * (1 << 30))},
		Prelaunch: c.LaunchLead, Lease: c.Lease, MetricsListen: c.MetricsListen, MetricsSecret: c.MetricsSecret,
		IngestSigningKey: c.IngestSigningKey, WebhookSecret: c.WebhookSecret, WebhookAllowCIDRs: c.WebhookAllowCIDRs, WebhookProxy: c.WebhookProxy,
		IntakeSecret: c.IntakeSecret, AdminSecret: c.AdminSecret, PaymentWebhookSecret: c.PaymentWebhookSecret,
		FreeTierJobs: c.FreeTierJobs, RateLimit: c.RateLimit, TrustedProxies: c.TrustedProxies,
		OIDC: oidc, AllowedMeetingHosts: trimmed(c.AllowedMeetingHosts), LoopbackMeetings: c.LoopbackMeetings,
		Executable: self, Bots: c.setup(), AskFirst: c.AskFirst, Log: log,
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(to.out, "standin %s serves on http://%s\n", version(), s.Addr())
	if err := printFirstLink(ctx, to.out, s); err != nil {
		return errors.Join(err, s.Close())
	}
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
