package service

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"standin/internal/dashboard"
	"standin/internal/dispatch"
	"standin/internal/httpapi"
	"standin/internal/httpapi/ratelimit"
	"standin/internal/launch"
	"standin/internal/launch/docker"
	"standin/internal/retention"
	"standin/internal/webhook"
)

// Files in the data folder.
const (
	databaseFile = "standin.db"
	keyFile      = "ingest.key"
	lockFile     = "standin.lock"
	storageDir   = "recordings"
)

// leastLease is the shortest lease: a third of it must pass for a busy machine's
// hiccups.
const leastLease = time.Second

// Settings say how the service runs. Those without a default must be set.
type Settings struct {
	Listen        string // address and port; port 0 picks a free one
	BaseURL       string // as consumers reach the service; default http://<listen>
	BotServiceURL string // as bots reach the service; default http://<listen>
	DataDir       string // created or restricted to 0700
	DatabaseURL   string // postgres://…; default a SQLite file in the data folder
	StorageURL    string // default a folder in the data folder
	Launcher      string // process (default), docker, kubernetes or manual

	Docker       docker.Settings    // with the launcher docker; what is the service's own is filled in
	Kubernetes   KubernetesSettings // with the launcher kubernetes; the same
	StartTimeout time.Duration      // that either has to start a bot; DefaultStartTime when 0

	NodeName     string                // for people; default: the machine's
	MaxBots      int                   // that this node runs at once; by what the machine has when 0
	BotResources dispatch.BotResources // of each bot; dispatch.DefaultCost when zero
	Prelaunch    dispatch.Prelaunch    // how long before joinAt bots are launched
	Lease        time.Duration         // dispatch.DefaultLease when 0

	MetricsListen string // address that shows metrics alone, without credentials; none when empty
	MetricsSecret string // shows metrics on the service's own address; the admin secret alone does when empty

	Retention retention.Period // of the recordings of consumers that have none of their own; forever when zero

	IngestSigningKey  string        // default: made once and kept in the data folder
	WebhookSecret     string        // of new consumers; default: each gets its own
	WebhookAllowCIDRs string        // default: loopback when the service itself listens on loopback
	WebhookProxy      string        // forward proxy that webhooks go through; none when empty, whatever the environment says
	WebhookTimeout    time.Duration // of one try; the sender's default when 0

	IntakeSecret         string         // of calendar intake; nobody may use it when empty
	AdminSecret          string         // of the operator's surface; the same
	PaymentWebhookSecret string         // of the payment provider; its events are answered 503 when empty
	FreeTierJobs         int            // that invites may make in a month for a consumer without a plan; 0 is no bound
	RateLimit            ratelimit.Rate // of each API key; off when zero
	TrustedProxies       string         // networks whose word is taken for whom they forward; none when empty

	OIDC            dashboard.OIDCSettings // where users of the dashboard may sign in elsewhere
	DashboardLimits dashboard.Limits       // of sign-ins; those that are zero have their defaults

	AllowedMeetingHosts []string
	LoopbackMeetings    bool // meetings on this machine may send media: for replicas

	Executable string             // the standin binary, to start bots with
	Bots       launch.BotSettings // what all bots are told
	AskFirst   bool               // nothing is recorded without the host's permission, whatever the job says
	Timeouts   dispatch.Timeouts
	HTTP       httpapi.Timeouts // those that are 0 have their defaults
	Log        *slog.Logger
}

// check finds what is wrong with settings before anything is opened.
func (s Settings) check() error {
	if s.MaxBots < 0 || s.BotResources.Cores < 0 {
		return fmt.Errorf("there cannot be room for %d bots of %g cores", s.MaxBots, s.BotResources.Cores)
	}
	if s.Lease != 0 && s.Lease < leastLease {
		return fmt.Errorf("a lease of %s is too short: the least is %s", s.Lease, leastLease)
	}
	if s.FreeTierJobs < 0 {
		return fmt.Errorf("the free tier cannot have %d jobs", s.FreeTierJobs)
	}
	if err := s.CheckLauncher(); err != nil {
		return err
	}
	_, err := ratelimit.ParseProxies(s.TrustedProxies)
	return err
}

// Shared reports whether a database may serve several nodes.
func Shared(databaseURL string) bool {
	return strings.HasPrefix(databaseURL, "postgres://") || strings.HasPrefix(databaseURL, "postgresql://")
}

// DatabaseAddress is what to open: the database that was set, or the SQLite
// file in the data folder.
func DatabaseAddress(databaseURL, dataDir string) string {
	if databaseURL != "" {
		return databaseURL
	}
	return filepath.Join(dataDir, databaseFile)
}

// StorageAddress is where recordings are kept: the storage that was set, or a
// folder in the data folder, whose path must be absolute.
func StorageAddress(storageURL, dataDir string) string {
	if storageURL != "" {
		return storageURL
	}
	return (&url.URL{Scheme: "file", Path: filepath.Join(dataDir, storageDir)}).String()
}

// signingKey returns the key of the ingest tokens: the one that was set, or
// the one in the data folder, made when it is missing. Nodes that share a
// database must share the key, so there it has to be set.
func signingKey(settings Settings) ([]byte, error) {
	if settings.IngestSigningKey != "" {
		return []byte(settings.IngestSigningKey), nil
	}
	if Shared(settings.DatabaseURL) {
		return nil, errors.New("STANDIN_INGEST_SIGNING_KEY must be set with PostgreSQL: all nodes need the same")
	}
	path := filepath.Join(settings.DataDir, keyFile)
	kept, err := os.ReadFile(path)
	if err == nil && len(kept) > 0 {
		return kept, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the ingest signing key: %w", err)
	}
	random := make([]byte, 32)
	_, _ = rand.Read(random) // does not fail
	key := []byte(hex.EncodeToString(random))
	if err := writeDurably(path, key); err != nil {
		return nil, fmt.Errorf("keep the ingest signing key: %w", err)
	}
	return key, nil
}

// writeDurably writes a small file whole or not at all.
func writeDurably(path string, data []byte) error {
	file, err := os.OpenFile(path+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err == nil {
		err = file.Sync()
	}
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// PrepareDataDir creates the data folder if it does not exist. It removes the
// permissions of other users, and returns an error if it cannot: the folder
// contains secrets and recordings. It accepts a folder of another owner that
// is accessible to its group, as the volumes of Kubernetes are.
func PrepareDataDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("create the data folder: %w", err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("create the data folder: %w", err)
	}
	mode := info.Mode().Perm()
	if mode&0o077 == 0 {
		return nil
	}
	if err := os.Chmod(dir, 0o700); err != nil && mode&0o007 != 0 {
		return fmt.Errorf("other users can access the data folder %s (mode %04o), and this process cannot change that: "+
			"let its owner run chmod 700, or set STANDIN_DATA_DIR to a folder below it: %w", dir, mode, err)
	}
	return nil
}

// holdDataDir makes sure that one service uses the data folder at a time.
func holdDataDir(dir string) (*os.File, error) {
	file, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the data folder's lock: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("another standin serve uses the data folder %s: %w", dir, err), file.Close())
	}
	return file, nil
}

// reachable turns the address that a service listens on into one that a
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

// webhookAllow is where webhooks may go beside the public internet.
func (s *Service) webhookAllow() ([]netip.Prefix, error) {
	if s.settings.WebhookAllowCIDRs != "" {
		return webhook.ParseAllow(s.settings.WebhookAllowCIDRs)
	}
	host, _, err := net.SplitHostPort(s.listener.Addr().String())
	if err != nil {
		return nil, fmt.Errorf("read the listening address: %w", err)
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip.IsLoopback() {
		return webhook.ParseAllow("127.0.0.0/8,::1/128")
	}
	return nil, nil
}
