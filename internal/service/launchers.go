package service

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"standin/internal/job"
	"standin/internal/launch"
	"standin/internal/launch/docker"
	"standin/internal/launch/kubernetes"
	"standin/internal/recording"
)

// DefaultStartTime is how long an engine may take to start a bot: to pull its
// image and to find room for it.
const DefaultStartTimeout = 5 * time.Minute

// KubernetesSettings are those of the launcher kubernetes. What is the
// service's own is filled in.
type KubernetesSettings struct {
	kubernetes.Settings
	Kubeconfig  string // a file; the cluster that the service runs in, or the user's, when empty
	PodTemplate string // a file; nothing more than a bot needs when empty
}

// Found returns the launcher's settings with the cluster, its namespace and the
// pod template that they name.
func (s KubernetesSettings) Resolve() (kubernetes.Settings, error) {
	settings := s.Settings
	config, namespace, err := kubernetes.FindCluster(s.Kubeconfig)
	if err != nil {
		return settings, err
	}
	settings.Cluster = config
	if settings.Namespace == "" {
		settings.Namespace = namespace
	}
	if s.PodTemplate != "" {
		if settings.Template, err = kubernetes.ReadPodTemplate(s.PodTemplate); err != nil {
			return settings, err
		}
	}
	return settings, nil
}

// engine is a launcher whose bots run elsewhere.
type engine interface {
	launch.Launcher
	Close()
}

// elsewhere reports whether bots run in containers, which know nothing of this
// machine's addresses and folders.
func (s Settings) elsewhere() bool { return s.Launcher == "docker" || s.Launcher == "kubernetes" }

// CheckLauncher finds what a launcher misses before anything is opened.
func (s Settings) CheckLauncher() error {
	if s.elsewhere() && s.BotServiceURL == "" && s.Docker.Network != "host" {
		return fmt.Errorf("STANDIN_BOT_SERVICE_URL must be set with the launcher %s: "+
			"in a bot's container the address that the service listens on is the container itself", s.Launcher)
	}
	return nil
}

// startTime is how long an engine may take to start a bot.
func (s Settings) startTime() time.Duration {
	if s.StartTimeout == 0 {
		return DefaultStartTimeout
	}
	return s.StartTimeout
}

// newEngine returns the launcher of bots that run elsewhere.
func (s *Service) newEngine(onChange func(uuid.UUID, int)) (engine, error) {
	if _, err := recording.FindTools(); err != nil {
		s.settings.Log.Error("no recording can be finished before this is mended", "error", err)
	}
	if s.settings.Launcher == "docker" {
		settings := s.settings.Docker
		settings.RemoteSettings = s.remoteSettings(settings.RemoteSettings, settings.Seccomp, onChange)
		return docker.New(settings)
	}
	settings, err := s.settings.Kubernetes.Resolve()
	if err != nil {
		return nil, err
	}
	settings.RemoteSettings = s.remoteSettings(settings.RemoteSettings, settings.Seccomp, onChange)
	return kubernetes.New(settings)
}

// remoteSettings adds the service's own settings to those of an engine. The
// default seccomp profiles of containers forbid Chromium's sandbox; under those,
// the container is the sandbox.
func (s *Service) remoteSettings(settings launch.RemoteSettings, seccomp string, onChange func(uuid.UUID, int)) launch.RemoteSettings {
	settings.Instance, settings.IsWanted, settings.OnChange = s.instance(), s.wanted, onChange
	settings.Bot, settings.Log = s.settings.Bots, s.settings.Log
	settings.Bot.NoSandbox = settings.Bot.NoSandbox || seccomp == ""
	return settings
}

// instance names all services that share this one's database, to tell their
// bots from others': they share the ingest signing key, which does not show in
// it.
func (s *Service) instance() string {
	mac := hmac.New(sha256.New, s.key)
	mac.Write([]byte("standin instance"))
	return hex.EncodeToString(mac.Sum(nil))[:12]
}

// wanted reports whether an attempt may have a bot: it is the last one of its
// job, and the dispatcher has yet to do with it.
func (s *Service) wanted(ctx context.Context, jobID uuid.UUID, attempt int) (bool, error) {
	r, err := s.store.Job(ctx, jobID)
	if known := (*job.Error)(nil); errors.As(err, &known) && known.Code == job.NotFound {
		return false, nil
	}
	return err == nil && r.Attempt == attempt && !r.WakeAt.IsZero(), err
}
