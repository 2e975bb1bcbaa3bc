package service

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"standin/internal/dashboard"
	"standin/internal/dispatch"
	"standin/internal/httpapi"
	"standin/internal/httpmw"
	"standin/internal/launch"
	"standin/internal/launch/docker"
	"standin/internal/retention"
	"standin/internal/tracing"
	"standin/internal/webhook"
)

const (
	// minLease is the shortest lease: a busy machine must not lose leases.
	minLease = time.Second
	// DefaultStartTimeout is how long an engine may take to start a bot: to pull
	// its image and to find capacity for it.
	DefaultStartTimeout = 5 * time.Minute
)

// Settings configure the service. Those without a default must be set.
type Settings struct {
	Listen           string   // address and port; port 0 picks a free one
	ManifestPrefixes []string // URLs below which bots may store manifests, in addition to BaseURL
	BaseURL          string   // where consumers reach the service; default http://<listen>
	BotServiceURL    string   // where bots reach the service; default http://<listen>
	DataDir          string   // created or restricted to 0700
	DatabaseURL      string   // postgres://…; default a SQLite file in the data folder
	StorageURL       string   // default a folder in the data folder
	Launcher         string   // process (default), docker, kubernetes or manual

	Docker       docker.Settings    // of the launcher docker; the service completes them
	Kubernetes   KubernetesSettings // of the launcher kubernetes; the service completes them
	StartTimeout time.Duration      // of either for starting a bot; DefaultStartTimeout when 0

	NodeName           string                // for people; default the machine's name
	MaxBots            int                   // that this node runs at once; derived from the machine when 0
	MaxBotsPerConsumer int                   // on all nodes; 0 is no limit
	BotResources       dispatch.BotResources // of each bot; dispatch.DefaultBotResources when zero
	Prelaunch          dispatch.Prelaunch    // how long before joinAt bots are launched
	Lease              time.Duration         // dispatch.DefaultLease when 0

	MetricsListen string // address that serves only metrics, without credentials; none when empty
	Profiling     bool   // MetricsListen serves profiles too
	MetricsSecret string // gives access to the metrics on the service's own address; only the admin secret does when empty

	Retention    retention.Period // of recordings, unless the consumer has its own; forever when zero
	JobRetention retention.Period // of jobs, likewise

	IngestSigningKey        string        // default: created once and kept in the data folder
	WebhookSecret           string        // of new consumers; default: each gets its own
	WebhookAllowCIDRs       string        // default: loopback if the listener and the base URL are on loopback
	WebhookPrivateResponses bool          // keep response bodies of destinations that are not public
	WebhookProxy            string        // forward proxy for webhooks; none when empty, whatever the environment says
	WebhookTimeout          time.Duration // of one attempt; the sender's default when 0

	IntakeSecret         string      // of calendar intake; nobody may use it when empty
	AdminSecret          string      // of the operator's endpoints; nobody may use them when empty
	PaymentWebhookSecret string      // of the payment provider; its events are answered with 503 when empty
	FreeTierJobs         int         // that invites may create in a month for a consumer without a plan; 0 is no limit
	RateLimit            httpmw.Rate // of each API key; off when zero
	TrustedProxies       httpmw.TrustedProxies

	Transcriber TranscriberSettings // no transcripts when its URL is empty
	Tracing     tracing.Settings    // no traces when its endpoint is empty; the service completes it

	OIDC            dashboard.OIDCSettings // provider for signing in to the dashboard
	DashboardLimits dashboard.Limits       // of sign-ins; zero ones have their defaults

	AllowedMeetingHosts []string
	LoopbackMeetings    bool // meetings on this machine may send media: for replicas

	Executable        string             // the standin binary, to start bots with
	BotTokenLifetime  time.Duration      // after the end of a job; lifecycle.DefaultBotTokenLifetime when 0
	UploadQuota       int64              // of a job, in bytes; derived from its maximum duration when 0
	Bots              launch.BotSettings // of all bots
	RequirePermission bool               // nothing is recorded without the host's permission, whatever the job says
	Timeouts          dispatch.Timeouts  // dispatch.DefaultTimeouts when zero
	LiveLimits        httpapi.LiveLimits // of live streams
	HTTP              httpapi.Timeouts   // zero ones have their defaults
	Log               *slog.Logger
}

// check returns an error for settings that cannot work, before anything is
// opened.
func (s Settings) check() error {
	switch {
	case s.MaxBots < 0:
		return errors.New("STANDIN_MAX_BOTS must not be negative")
	case s.MaxBotsPerConsumer < 0:
		return errors.New("STANDIN_MAX_BOTS_PER_CONSUMER must not be negative")
	case s.BotResources.Cores < 0:
		return errors.New("STANDIN_BOT_CORES must not be negative")
	case s.Lease != 0 && s.Lease < minLease:
		return fmt.Errorf("STANDIN_LEASE must be at least %s", minLease)
	case s.Profiling && s.MetricsListen == "":
		return errors.New("STANDIN_PROFILING needs STANDIN_METRICS_LISTEN: profiles are served only on that address")
	case s.FreeTierJobs < 0:
		return errors.New("STANDIN_FREE_TIER_JOBS must not be negative")
	}
	if err := s.CheckLauncher(); err != nil {
		return err
	}
	if err := s.Transcriber.check(); err != nil {
		return err
	}
	return s.TrustedProxies.Check()
}

// CheckLauncher returns an error when the launcher lacks a setting.
func (s Settings) CheckLauncher() error {
	if s.inContainers() && s.BotServiceURL == "" && s.Docker.Network != "host" {
		return fmt.Errorf("STANDIN_BOT_SERVICE_URL must be set with the launcher %s: "+
			"in a bot's container the address that the service listens on is the container itself", s.Launcher)
	}
	return nil
}

// inContainers reports whether bots run in containers, which cannot use this
// machine's loopback addresses and folders.
func (s Settings) inContainers() bool { return s.Launcher == "docker" || s.Launcher == "kubernetes" }

// Shared reports whether several nodes can share a database.
func Shared(databaseURL string) bool {
	return strings.HasPrefix(databaseURL, "postgres://") || strings.HasPrefix(databaseURL, "postgresql://")
}

// complete derives the URLs that are not set from where the service listens.
func (s *Settings) complete(listen net.Addr) {
	local := "http://" + reachable(listen.String())
	s.BaseURL = strings.TrimRight(cmp.Or(s.BaseURL, local), "/")
	s.BotServiceURL = cmp.Or(s.BotServiceURL, local)
}

// reachable converts the address that a service listens on into one that a
// process of this machine can connect to.
func reachable(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

// webhookAllow returns the networks that webhooks may be sent to in addition to
// the public internet. By default that is loopback if both the listener and the
// host of the base URL are loopback addresses. Behind a TLS proxy the listener
// is on loopback too, and the internal services of that machine must not be
// reachable.
func (s *Service) webhookAllow() ([]netip.Prefix, error) {
	if s.settings.WebhookAllowCIDRs != "" {
		return webhook.ParseAllow(s.settings.WebhookAllowCIDRs)
	}
	base, err := url.Parse(s.settings.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("parse the base URL: %w", err)
	}
	if listen, _, err := net.SplitHostPort(s.Addr()); err == nil && isLoopback(listen) && isLoopback(base.Hostname()) {
		return webhook.ParseAllow("127.0.0.0/8,::1/128")
	}
	return nil, nil
}

// isLoopback reports whether a host is a loopback address or localhost.
func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}
