package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"time"

	"standin/internal/base/dialguard"
	"standin/internal/calendar/calendarapi"
	"standin/internal/calendar/mail"
	"standin/internal/jobs/dispatch"
	"standin/internal/jobs/lifecycle"
	"standin/internal/launch"
	"standin/internal/operation/alert"
	"standin/internal/operation/tracing"
	"standin/internal/recording/retention"
	"standin/internal/recording/speech"
	"standin/internal/recording/storage"
	"standin/internal/recording/transcript"
	"standin/internal/recording/transcript/streaming"
	"standin/internal/server/dashboard"
	"standin/internal/server/httpapi"
	"standin/internal/store"
)

// minEncryptionKey is the length of the shortest encryption key, in bytes.
const minEncryptionKey = 16

// DataSettings locate the data of a service.
type DataSettings struct {
	DataDir     string `env:"STANDIN_DATA_DIR" default:"./data" help:"Directory for the database, recordings and bots; created with mode 0700."`
	DatabaseURL string `env:"STANDIN_DATABASE_URL" placeholder:"postgres://…" help:"PostgreSQL database, for several nodes. Default: a SQLite file in the data directory."`
}

// KeySettings are the keys that all processes of a service share.
type KeySettings struct {
	IngestSigningKey string `env:"STANDIN_INGEST_SIGNING_KEY" help:"Key that signs bot tokens. Default: generated once and stored with mode 0600 in the data directory; required with PostgreSQL. Prefer the environment variable."`
	EncryptionKey    string `env:"STANDIN_ENCRYPTION_KEY" help:"Key that encrypts calendar addresses and tokens, at least 16 characters. Default: derived from the ingest signing key. Prefer the environment variable."`
}

// EventSettings are those of jobs that events create.
type EventSettings struct {
	WebhookSecret string `env:"STANDIN_WEBHOOK_SECRET" group:"Webhooks:" help:"Webhook secret for new teams. Default: a random secret for each. Prefer the environment variable."`
	FreeTierJobs  int    `env:"STANDIN_FREE_TIER_JOBS" default:"0" group:"Payments:" help:"Jobs per calendar month (UTC) that invitations may create for a team without a plan; 0 means unlimited."`
}

// StorageSettings locate the recordings.
type StorageSettings struct {
	StorageURL string `env:"STANDIN_STORAGE_URL" placeholder:"s3://…" help:"Storage for recordings: file:///directory or s3://bucket. Default: a directory in the data directory."`
}

// Settings configure the service. Tags describe the flags and environment variables
// of package main. Zero values have defaults unless a comment says otherwise.
type Settings struct {
	DataSettings
	KeySettings
	EventSettings
	Bots    launch.BotSettings `embed:"" group:"Bots:"` // of all bots
	SignIn  string             `env:"STANDIN_SIGN_IN" placeholder:"DIR" group:"Bots:" help:"Folder of cookies and browser profiles, which become accounts of the operator with which bots sign in. Accounts can also be added with standin accounts add."`
	Listen  string             `aliases:"port" env:"STANDIN_LISTEN" default:"127.0.0.1:8080" help:"Address and port to listen on; port 0 picks a free one and prints it."`
	BaseURL string             `env:"STANDIN_BASE_URL" help:"Public URL of the service. Default: http://<listen>."`
	StorageSettings
	LauncherSettings
	Dispatch  dispatch.Options  `embed:"" group:"Jobs:"`
	Lifecycle lifecycle.Options `embed:"" group:"Jobs:"`
	Retention retention.Options `embed:"" group:"Retention:"`
	HTTP      httpapi.Options   `embed:"" group:"API:"`

	NodeURL   string  `env:"STANDIN_NODE_URL" placeholder:"http://…" group:"Capacity:" help:"URL at which other nodes reach this one, for live sound. Default: http://<listen>, with the machine's first address if it listens on all."`
	MaxBots   int     `env:"STANDIN_MAX_BOTS" default:"0" group:"Capacity:" help:"Maximum number of bots on this node; 0 derives it from the cores and memory of the machine or container."`
	BotCores  float64 `env:"STANDIN_BOT_CORES" default:"1.0" group:"Capacity:" help:"CPU cores reserved per bot when the node's capacity is derived."`
	BotMemory float64 `env:"STANDIN_BOT_MEMORY_GB" name:"bot-memory-gb" default:"1.0" group:"Capacity:" help:"Memory reserved per bot when the node's capacity is derived, in GiB."`

	MetricsListen string `env:"STANDIN_METRICS_LISTEN" placeholder:"127.0.0.1:9090" group:"Metrics:" help:"Separate address that serves only /metrics, without authentication."`
	Profiling     bool   `env:"STANDIN_PROFILING" group:"Metrics:" help:"Serve CPU, memory and other profiles of this process at /debug/pprof on the metrics listener, without authentication."`

	WebhookAllowCIDRs       string `env:"STANDIN_WEBHOOK_ALLOW_CIDRS" name:"webhook-allow-cidrs" group:"Webhooks:" help:"Networks that webhooks, connected calendars and requests for audio files may reach in addition to the public internet, comma-separated. Default: loopback when both the listener and the host of the base URL are loopback addresses, else none."`
	WebhookPrivateResponses bool   `env:"STANDIN_WEBHOOK_PRIVATE_RESPONSES" group:"Webhooks:" help:"Also store response bodies of private webhook destinations. By default, only status and latency are stored."`
	WebhookProxy            string `env:"STANDIN_WEBHOOK_PROXY" placeholder:"http://…" group:"Webhooks:" help:"Forward proxy for webhooks, connected calendars and files that bots play or show; the proxy must then block private networks. Default: none; proxy environment variables are ignored."`

	PaymentWebhookSecret string `env:"STANDIN_PAYMENT_WEBHOOK_SECRET" group:"Payments:" help:"Signing secret of the payment provider's webhooks. If unset, the endpoint returns 503. Prefer the environment variable."`

	ShareLinks  time.Duration          `env:"STANDIN_SHARE_LINKS" default:"0s" group:"Sign-in:" help:"How long links work that show a recording to people who are not signed in, such as 168h; 0 allows none."`
	OIDC        dashboard.OIDCSettings `embed:"" prefix:"oidc-" group:"Sign-in:"`
	Calendars   calendarapi.Settings   `embed:"" group:"Calendars:"`
	Compose     lifecycle.Compose      `env:"STANDIN_COMPOSE" enum:"always,request" default:"always" group:"Bots:" help:"When recording.mp4 is composed of the videos of participants (recordings of streams, and zoom-sdk): after each meeting (always), or at the first request for it (request)."`
	Transcriber transcript.Config      `embed:"" prefix:"transcriber-" group:"Transcripts:"`
	Speech      speech.Config          `embed:"" prefix:"speech-" group:"Speech:"`
	Live        streaming.Config       `embed:"" prefix:"live-" group:"Transcripts:"`
	// Diagnose checks this machine, for the page of operators; may be nil.
	Diagnose func(ctx context.Context) []dashboard.Finding `kong:"-"`

	Tracing tracing.Settings `embed:"" group:"Traces:"` // the service completes it
	Alerts  alert.Options    `embed:"" prefix:"alert-" group:"Alerts:"`

	OpenEngine      OpenEngine         `kong:"-"` // for launchers whose bots run in containers; may be nil
	OpenS3          storage.Opener     `kong:"-"` // opens s3:// storage; may be nil
	Executable      string             `kong:"-"` // the standin binary, to start bots with
	Log             *slog.Logger       `kong:"-"` // must be set
	AlertMail       mail.ReplySettings `kong:"-"` // the mail host of alerts
	WebhookTimeout  time.Duration      `kong:"-"` // of one attempt
	DashboardLimits dashboard.Limits   `kong:"-"` // of sign-ins
	Timeouts        dispatch.Timeouts  `kong:"-"`
}

var optionalURL = regexp.MustCompile(`^(https?://[^/?#].*)?$`)

// check returns an error that names each setting that cannot work, before anything is
// opened.
func (s Settings) check() error {
	const port, negative = "%s must name an address and a port, such as 127.0.0.1:8080", "%s must not be negative"
	const web = "%s must be a URL with https:// or http:// and a host, such as https://standin.example.com"
	return errors.Join(
		refuse(!strings.Contains(s.Listen, ":"), port, "STANDIN_LISTEN"), // an empty one would be all interfaces
		refuse(s.MetricsListen != "" && !strings.Contains(s.MetricsListen, ":"), port, "STANDIN_METRICS_LISTEN"),
		refuse(!optionalURL.MatchString(s.BaseURL), web, "STANDIN_BASE_URL"),
		refuse(!optionalURL.MatchString(s.BotServiceURL), web, "STANDIN_BOT_SERVICE_URL"),
		refuse(!optionalURL.MatchString(s.NodeURL), web, "STANDIN_NODE_URL"),
		refuse(s.DataDir == "", "%s must name a directory", "STANDIN_DATA_DIR"), // would be the current directory
		refuse(s.MaxBots < 0, negative, "STANDIN_MAX_BOTS"),
		refuse(s.Dispatch.MaxBotsPerConsumer < 0, negative, "STANDIN_MAX_BOTS_PER_CONSUMER"),
		refuse(s.BotCores < 0, negative, "STANDIN_BOT_CORES"),
		refuse(s.BotMemory < 0, negative, "STANDIN_BOT_MEMORY_GB"),
		refuse(s.FreeTierJobs < 0, negative, "STANDIN_FREE_TIER_JOBS"),
		refuse(s.Profiling && s.MetricsListen == "",
			"%s needs STANDIN_METRICS_LISTEN: profiles are served only on that address", "STANDIN_PROFILING"),
		refuse(s.EncryptionKey != "" && len(s.EncryptionKey) < minEncryptionKey,
			"STANDIN_ENCRYPTION_KEY must have at least %d characters", minEncryptionKey),
		s.Transcriber.Check(), s.AlertMail.Check(), s.Alerts.Check(s.AlertMail.URL != nil && !s.AlertMail.OAuth), s.Calendars.Check(),
		s.HTTP.TrustedProxies.Check(),
	)
}

// refuse returns an error if a setting is wrong.
func refuse(wrong bool, format string, name any) error {
	if !wrong {
		return nil
	}
	return fmt.Errorf(format, name)
}

// complete derives the URLs that are not set from where the service listens.
func (s *Settings) complete(listen net.Addr) {
	local := "http://" + reachable(listen.String(), "127.0.0.1")
	s.BaseURL = strings.TrimRight(cmp.Or(s.BaseURL, local), "/")
	s.BotServiceURL = cmp.Or(s.BotServiceURL, local)
	if store.IsPostgres(s.DatabaseURL) { // otherwise there are no other nodes
		machine := "127.0.0.1"
		addresses, _ := net.InterfaceAddrs() // without any, only this machine reaches the service
		for _, local := range addresses {
			if prefix, err := netip.ParsePrefix(local.String()); err == nil && prefix.Addr().IsGlobalUnicast() {
				machine = prefix.Addr().String()
				break
			}
		}
		s.NodeURL = strings.TrimRight(cmp.Or(s.NodeURL, "http://"+reachable(listen.String(), machine)), "/")
	}
}

// reachable converts the address that a service listens on into one to connect to. If it listens on
// all addresses, that is the one of machine.
func reachable(address, machine string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip.IsUnspecified() {
		host = machine
	}
	return net.JoinHostPort(host, port)
}

// webhookAllow returns the networks that webhooks may be sent to in addition to
// the public internet. By default that is loopback if both the listener and the
// host of the base URL are loopback addresses. Behind a TLS proxy the listener
// is on loopback too, and the internal services of that machine must not be
// reachable.
func (s *Service) webhookAllow() ([]netip.Prefix, error) {
	if s.WebhookAllowCIDRs != "" {
		allow, err := dialguard.ParseNetworks(s.WebhookAllowCIDRs)
		if err != nil {
			return nil, fmt.Errorf("STANDIN_WEBHOOK_ALLOW_CIDRS: %w", err)
		}
		return allow, nil
	}
	base, err := url.Parse(s.Settings.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("parse the base URL: %w", err)
	}
	if listen, _, err := net.SplitHostPort(s.Addr()); err == nil && isLoopback(listen) && isLoopback(base.Hostname()) {
		return dialguard.ParseNetworks("127.0.0.0/8,::1/128")
	}
	return nil, nil
}

// isLoopback reports whether a host is a loopback address or localhost.
func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}
