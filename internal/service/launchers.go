package service

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"

	"github.com/google/uuid"

	"standin/internal/bot/browser"
	"standin/internal/dispatch"
	"standin/internal/event"
	"standin/internal/job"
	"standin/internal/launch"
	"standin/internal/launch/docker"
	"standin/internal/launch/kubernetes"
	"standin/internal/launch/manual"
	"standin/internal/launch/process"
	"standin/internal/recording/build"
)

// KubernetesSettings configure the launcher kubernetes.
type KubernetesSettings struct {
	kubernetes.Settings
	Kubeconfig  string // a file; default the user's, or the cluster that the service runs in
	PodTemplate string // a file; default only what a bot needs
}

// Resolve returns the launcher's settings with the cluster, its namespace and
// the pod template.
func (s KubernetesSettings) Resolve() (kubernetes.Settings, error) {
	settings := s.Settings
	config, namespace, err := kubernetes.FindCluster(s.Kubeconfig)
	if err != nil {
		return settings, err
	}
	settings.Cluster = config
	settings.Namespace = cmp.Or(settings.Namespace, namespace)
	if s.PodTemplate != "" {
		if settings.Template, err = kubernetes.ReadPodTemplate(s.PodTemplate); err != nil {
			return settings, err
		}
	}
	return settings, nil
}

// engine is a launcher whose bots run in containers.
type engine interface {
	launch.Launcher
	Close()
}

// newLauncher returns the launcher of live jobs and its timeouts.
func (s *Service) newLauncher(events *event.Publisher) (launch.Launcher, dispatch.Timeouts, error) {
	timeouts := cmp.Or(s.settings.Timeouts, dispatch.DefaultTimeouts())
	if s.settings.Launcher == "manual" {
		return manual.Launcher{}, timeouts.Manual(), nil
	}
	if _, err := build.FindTools(); err != nil {
		s.settings.Log.Error("no recording can be finalized until this is fixed", "error", err)
	}
	newEngine := s.newDocker
	switch s.settings.Launcher {
	case "", "process":
		var err error
		s.process, err = s.newProcess(events)
		return s.process, timeouts, err
	case "docker":
	case "kubernetes":
		newEngine = s.newKubernetes
	default:
		return nil, timeouts, fmt.Errorf("unknown launcher %q; the launchers are process, docker, kubernetes and manual", s.settings.Launcher)
	}
	engine, err := newEngine(events)
	if err != nil {
		return nil, timeouts, err
	}
	s.engine, timeouts.Launch = engine, cmp.Or(s.settings.StartTimeout, DefaultStartTimeout)
	return engine, timeouts, nil
}

// newProcess returns the launcher of bots that are processes of this machine.
func (s *Service) newProcess(events *event.Publisher) (*process.Launcher, error) {
	check := func() error {
		if _, err := browser.Find(s.settings.Bots.Browser); err != nil {
			return err
		}
		if err := browser.CheckMode(browser.Mode(s.settings.Bots.BrowserMode)); err != nil {
			return err
		}
		return browser.CheckSandbox(s.settings.Bots.NoSandbox)
	}
	if s.settings.Bots.NoSandbox {
		s.warnNoSandbox(browser.NoSandboxSetting + " is set")
	}
	if err := check(); err != nil {
		s.settings.Log.Error("no bot can be launched until this is fixed", "error", err)
	}
	return process.New(process.Settings{
		Dir: filepath.Join(s.settings.DataDir, "bots"), Executable: s.settings.Executable, Bot: s.settings.Bots,
		Check: check, OnExit: botChanged(events), Log: s.settings.Log,
	})
}

// newDocker returns the launcher of bots in Docker or Podman containers.
func (s *Service) newDocker(events *event.Publisher) (engine, error) {
	settings := s.settings.Docker
	settings.RemoteSettings = s.remoteSettings(settings.RemoteSettings, settings.Seccomp, events)
	return docker.New(settings)
}

// newKubernetes returns the launcher of bots in pods.
func (s *Service) newKubernetes(events *event.Publisher) (engine, error) {
	settings, err := s.settings.Kubernetes.Resolve()
	if err != nil {
		return nil, err
	}
	settings.RemoteSettings = s.remoteSettings(settings.RemoteSettings, settings.Seccomp, events)
	return kubernetes.New(settings)
}

// remoteSettings adds the service's own settings to those of an engine. The
// default seccomp profiles of containers forbid Chromium's sandbox; under those,
// the container is the sandbox.
func (s *Service) remoteSettings(settings launch.RemoteSettings, seccomp string, events *event.Publisher) launch.RemoteSettings {
	settings.Instance, settings.IsWanted, settings.OnChange = s.instance(), s.wanted, botChanged(events)
	settings.Bot, settings.Log = s.settings.Bots, s.settings.Log
	switch {
	case settings.Bot.NoSandbox:
		s.warnNoSandbox(browser.NoSandboxSetting + " is set")
	case seccomp == "":
		settings.Bot.NoSandbox = true
		s.warnNoSandbox("the default seccomp profile of containers does not allow it")
	}
	return settings
}

// warnNoSandbox logs that bots run Chromium without its sandbox, and why.
func (s *Service) warnNoSandbox(reason string) {
	s.settings.Log.Warn("bots run Chromium without its own sandbox", "reason", reason)
}

// instance identifies all services that share this one's database, to tell
// their bots from others. They share the ingest signing key, from which instance
// is derived without revealing it.
func (s *Service) instance() string {
	mac := hmac.New(sha256.New, s.key)
	mac.Write([]byte("standin instance"))
	return hex.EncodeToString(mac.Sum(nil))[:12]
}

// wanted reports whether an attempt may have a bot: it is the last one of its
// job, and the dispatcher is not done with the job.
func (s *Service) wanted(ctx context.Context, jobID uuid.UUID, attempt int) (bool, error) {
	r, err := s.store.Job(ctx, jobID)
	if job.ErrorIs(err, job.NotFound) {
		return false, nil
	}
	return err == nil && r.Attempt == attempt && !r.WakeAt.IsZero(), err
}

// recordingBitRate returns the bit rate of all tracks of a recording together;
// 0 with the default settings.
func recordingBitRate(r launch.Recording) int64 {
	if r.VideoBitRate == 0 || r.AudioBitRate == 0 {
		return 0
	}
	return int64(r.VideoBitRate) + int64(r.AudioBitRate)*int64(1+r.ParticipantAudioLimit)
}
