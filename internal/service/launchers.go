package service

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/google/uuid"

	"standin/internal/bot/browser"
	"standin/internal/dispatch"
	"standin/internal/event"
	"standin/internal/job"
	"standin/internal/jobfiles"
	"standin/internal/launch"
	"standin/internal/launch/docker"
	"standin/internal/launch/kubernetes"
	"standin/internal/launch/manual"
	"standin/internal/launch/process"
	"standin/internal/recording/build"
)

// defaultStartTime is how long an engine may take to start a bot: to pull its image
// and to find capacity for it.
const defaultStartTime = 5 * time.Minute

// LauncherSettings select and configure the launcher.
type LauncherSettings struct {
	BotServiceURL string `env:"STANDIN_BOT_SERVICE_URL" help:"URL at which bots reach the service. Default: http://<listen>."`
	Launcher      string `env:"STANDIN_LAUNCHER" default:"process" enum:"process,docker,kubernetes,manual" help:"How bots are launched: process, docker, kubernetes, or manual (the operator runs them)."`

	StartTime  time.Duration      `env:"STANDIN_START_TIME" default:"5m" group:"Bots in containers:" help:"How long the engine may take to start a bot, including the image pull, before the job fails."`
	Docker     docker.Settings    `embed:"" prefix:"docker-" envprefix:"STANDIN_DOCKER_" group:"Launcher docker:"`
	Kubernetes KubernetesSettings `embed:"" prefix:"kubernetes-" envprefix:"STANDIN_KUBERNETES_" group:"Launcher kubernetes:"`
}

// Check returns an error when the launcher lacks a setting.
func (s LauncherSettings) Check() error {
	if s.inContainers() && s.BotServiceURL == "" && s.Docker.Network != "host" {
		return fmt.Errorf("STANDIN_BOT_SERVICE_URL must be set with the launcher %s: "+
			"in a bot's container the address that the service listens on is the container itself", s.Launcher)
	}
	return nil
}

// inContainers reports whether bots run in containers, which cannot use this
// machine's loopback addresses and folders.
func (s LauncherSettings) inContainers() bool {
	return s.Launcher == "docker" || s.Launcher == "kubernetes"
}

// KubernetesSettings configure the launcher kubernetes.
type KubernetesSettings struct {
	kubernetes.Settings
	Kubeconfig  string `env:"KUBECONFIG" name:"kubeconfig" type:"existingfile" help:"Kubeconfig file. Default: KUBECONFIG or ~/.kube/config, else the cluster that the service runs in."`
	PodTemplate string `env:"POD_TEMPLATE" type:"existingfile" help:"YAML file with a PodTemplateSpec that bot pods are based on: node selectors, tolerations, pull secrets, volumes. Default: a minimal pod."`
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

// newLauncher returns the launcher of live jobs, its timeouts, and the check that it can launch
// bots; nil if there is nothing to check.
func (s *Service) newLauncher(events *event.Publisher) (launch.Launcher, dispatch.Timeouts, func(context.Context) error, error) {
	timeouts := cmp.Or(s.settings.Timeouts, dispatch.DefaultTimeouts())
	if s.settings.Launcher == "manual" {
		return manual.Launcher{}, timeouts.Manual(), nil, nil
	}
	if _, err := build.FindTools(); err != nil {
		s.settings.Log.Error("no recording can be finalized until this is fixed", "error", err)
	}
	newEngine := s.newDocker
	switch s.settings.Launcher {
	case "", "process":
		var err error
		s.process, err = s.newProcess(events)
		return s.process, timeouts, func(context.Context) error { return s.checkBrowser() }, err
	case "docker":
	case "kubernetes":
		newEngine = s.newKubernetes
	default:
		return nil, timeouts, nil, fmt.Errorf("unknown launcher %q; the launchers are process, docker, kubernetes and manual", s.settings.Launcher)
	}
	engine, check, err := newEngine(events)
	if err != nil {
		return nil, timeouts, nil, err
	}
	s.engine, timeouts.Launch = engine, cmp.Or(s.settings.StartTime, defaultStartTime)
	return engine, timeouts, check, nil
}

// checkBrowser returns why no bot can run on this machine.
func (s *Service) checkBrowser() error {
	if _, err := browser.Find(s.settings.Bots.Browser); err != nil {
		return err
	}
	if err := browser.CheckMode(browser.Mode(s.settings.Bots.BrowserMode)); err != nil {
		return err
	}
	return browser.CheckSandbox(s.settings.Bots.NoSandbox)
}

// newProcess returns the launcher of bots that are processes of this machine.
func (s *Service) newProcess(events *event.Publisher) (*process.Launcher, error) {
	if s.settings.Bots.NoSandbox {
		s.warnNoSandbox(browser.NoSandboxSetting + " is set")
	}
	return process.New(process.Settings{
		Dir: jobfiles.BotsDir(s.settings.DataDir), Executable: s.settings.Executable, Bot: s.settings.Bots,
		Check: s.checkBrowser, OnExit: botChanged(events), Log: s.settings.Log,
	})
}

// newDocker returns the launcher of bots in Docker or Podman containers.
func (s *Service) newDocker(events *event.Publisher) (engine, func(context.Context) error, error) {
	settings := s.settings.Docker
	settings.RemoteSettings = s.remoteSettings(settings.RemoteSettings, settings.Seccomp == "" || settings.Seccomp == docker.EngineSeccomp, events)
	launcher, err := docker.New(settings)
	return launcher, dockerCheck(settings), err
}

// newKubernetes returns the launcher of bots in pods.
func (s *Service) newKubernetes(events *event.Publisher) (engine, func(context.Context) error, error) {
	settings, err := s.settings.Kubernetes.Resolve()
	if err != nil {
		return nil, nil, err
	}
	settings.RemoteSettings = s.remoteSettings(settings.RemoteSettings, settings.Seccomp == "", events)
	launcher, err := kubernetes.New(settings)
	return launcher, kubernetesCheck(settings), err
}

// remoteSettings adds the service's own settings to those of an engine. The
// default seccomp profiles of containers forbid Chromium's sandbox; under those,
// the container is the sandbox.
func (s *Service) remoteSettings(settings launch.RemoteSettings, defaultSeccomp bool, events *event.Publisher) launch.RemoteSettings {
	settings.Instance, settings.IsWanted, settings.OnChange = s.instance(), s.wanted, botChanged(events)
	settings.Bot, settings.Log = s.settings.Bots, s.settings.Log
	switch {
	case settings.Bot.NoSandbox:
		s.warnNoSandbox(browser.NoSandboxSetting + " is set")
	case defaultSeccomp:
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
