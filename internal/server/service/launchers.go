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
	"standin/internal/jobs/dispatch"
	"standin/internal/jobs/event"
	"standin/internal/jobs/job"
	"standin/internal/jobs/jobfiles"
	"standin/internal/launch"
	"standin/internal/launch/manual"
	"standin/internal/launch/process"
	"standin/internal/recording/build"
)

// startTime is how long an engine may take to start a bot: to pull its image
// and to find capacity for it.
const startTime = 5 * time.Minute

// LauncherSettings select and configure the launcher.
type LauncherSettings struct {
	BotServiceURL string `env:"STANDIN_BOT_SERVICE_URL" help:"URL at which bots reach the service. Default: http://<listen>."`
	Launcher      string `env:"STANDIN_LAUNCHER" default:"process" enum:"process,docker,kubernetes,manual" help:"How bots are launched: process, docker, kubernetes, or manual (the operator runs them)."`
}

// OpenEngine connects to the container engine of a launcher, with settings of the service.
type OpenEngine func(launcher string, shared launch.RemoteSettings) (launch.RemoteLauncher, error)

// newLauncher returns the launcher of live jobs, its timeouts, and the check that it can launch
// bots; nil if there is nothing to check.
func (s *Service) newLauncher(events *event.Publisher) (launch.Launcher, dispatch.Timeouts, func(context.Context) error, error) {
	timeouts := cmp.Or(s.Timeouts, dispatch.DefaultTimeouts())
	if s.Launcher == "manual" {
		return manual.Launcher{}, timeouts.Manual(), nil, nil
	}
	if _, err := build.FindTools(); err != nil {
		s.Log.Error("no recording can be finalized until this is fixed", "error", err)
	}
	if launcher := s.Launcher; launcher == "" || launcher == "process" {
		var err error
		if s.Bots.NoSandbox {
			browser.WarnNoSandbox(s.Log, browser.NoSandboxSetting+" is set")
		}
		s.process, err = process.New(process.Settings{
			Dir: jobfiles.BotsDir(s.DataDir), Executable: s.Executable, Bot: s.Bots,
			Check: s.checkBrowser, OnExit: botChanged(events), Log: s.Log,
		})
		return s.process, timeouts, func(context.Context) error { return s.checkBrowser() }, err
	}
	if s.OpenEngine == nil {
		return nil, timeouts, nil, fmt.Errorf("unknown launcher %q", s.Launcher)
	}
	var err error
	if s.engine, err = s.OpenEngine(s.Launcher, launch.RemoteSettings{
		Instance: s.instance(), IsWanted: s.wanted, OnChange: botChanged(events), Bot: s.Bots, Log: s.Log,
	}); err != nil {
		return nil, timeouts, nil, err
	}
	if s.Timeouts == (dispatch.Timeouts{}) {
		timeouts.Launch = startTime
	}
	return s.engine, timeouts, s.engine.Check, nil
}

// checkBrowser returns why no bot can run on this machine.
func (s *Service) checkBrowser() error {
	if _, err := browser.Find(s.Bots.Browser); err != nil {
		return err
	}
	if err := browser.CheckMode(browser.Mode(s.Bots.BrowserMode)); err != nil {
		return err
	}
	return browser.CheckSandbox(s.Bots.NoSandbox)
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
