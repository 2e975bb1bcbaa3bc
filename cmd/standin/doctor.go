package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"standin/internal/doctor"
	"standin/internal/job"
)

type doctorCommand struct {
	dataFlags
	StorageURL string `env:"STANDIN_STORAGE_URL" placeholder:"s3://…" help:"Where recordings are kept. Default: a folder in the data folder."`
	Listen     string `env:"STANDIN_LISTEN" default:"127.0.0.1:8080" help:"Address and port that the service listens on."`
	BaseURL    string `env:"STANDIN_BASE_URL" help:"How consumers reach the service."`
	Browser    string `env:"STANDIN_BROWSER" help:"The Chromium that bots start. Default: found on PATH."`
	NoSandbox  bool   `env:"STANDIN_NO_SANDBOX" help:"Open the meeting page in a Chromium without its own sandbox."`
	Profiles   string `env:"STANDIN_PROFILES" help:"Folder of page profiles that replace the embedded ones."`
	JSON       bool   `help:"Print JSON."`

	BotServiceURL string `env:"STANDIN_BOT_SERVICE_URL" help:"How bots reach the service."`
	launcherFlags

	Platform      job.Platform  `and:"page" group:"Look at a meeting page instead:" help:"The page's platform: meet, teams or zoom-web."`
	URL           string        `env:"STANDIN_DOCTOR_URL" and:"page" group:"Look at a meeting page instead:" help:"The meeting to open. It may hold a passcode: better in the environment than on the command line."`
	AllowHost     []string      `env:"STANDIN_ALLOWED_MEETING_HOSTS" group:"Look at a meeting page instead:" help:"Hosts that may be opened beside the platform's own."`
	Wait          time.Duration `default:"10s" group:"Look at a meeting page instead:" help:"How long to wait until a screen is recognised."`
	Screenshot    string        `placeholder:"FILE" group:"Look at a meeting page instead:" help:"Write a picture of the page to this file, as PNG."`
	LoopbackPeers bool          `env:"STANDIN_BOT_LOOPBACK_PEERS" group:"Look at a meeting page instead:" help:"Let the page send media over loopback: for replicas."`
}

// Help tells what is done, and what the exit code says.
func (doctorCommand) Help() string {
	return "Checks what Standin needs on this machine and says how to mend what is not in order. Give it the settings of " +
		"standin serve. Nothing is changed. Exit code 0 when no check failed.\n\n" +
		"With --platform and --url it opens a meeting page in a browser, as a bot does, and tells which elements of the " +
		"profile it found there. It does not join. Exit code 0 when it recognised a screen."
}

// Run looks, and prints what it saw.
func (c *doctorCommand) Run(ctx context.Context, to terminal) error {
	if c.URL != "" {
		return c.lookAtPage(ctx, to)
	}
	engines, err := c.engines()
	if err != nil {
		return err
	}
	report := doctor.Run(ctx, doctor.Settings{
		DataDir: c.DataDir, DatabaseURL: c.DatabaseURL, StorageURL: c.StorageURL,
		Listen: c.Listen, BaseURL: c.BaseURL, Browser: c.Browser, Profiles: c.Profiles,
		Launcher: c.Launcher, BotServiceURL: c.BotServiceURL, Docker: engines.Docker, Kubernetes: engines.Kubernetes,
	})
	write := report.WriteText
	if c.JSON {
		write = report.WriteJSON
	}
	if err := write(to.out); err != nil {
		return err
	}
	if report.Failed() {
		return errors.New("not everything is in order")
	}
	return nil
}

// lookAtPage inspects a meeting page.
func (c *doctorCommand) lookAtPage(ctx context.Context, to terminal) error {
	page, err := doctor.InspectPage(ctx, doctor.PageSettings{
		Platform: c.Platform, URL: c.URL, AllowedHosts: trimmed(c.AllowHost), Profiles: c.Profiles, Browser: c.Browser, NoSandbox: c.NoSandbox,
		Wait: c.Wait, Screenshot: c.Screenshot, LoopbackPeers: c.LoopbackPeers,
	})
	if err != nil {
		return fmt.Errorf("look at the page: %w", err)
	}
	write := page.WriteText
	if c.JSON {
		write = page.WriteJSON
	}
	if err := write(to.out); err != nil {
		return err
	}
	if !page.Recognized() {
		return errors.New("the page shows none of the profile's screens")
	}
	return nil
}
