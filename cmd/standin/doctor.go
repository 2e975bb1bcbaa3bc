package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"standin/internal/bot/browser"
	"standin/internal/jobs/job"
	"standin/internal/launch/engines"
	"standin/internal/operation/doctor"
	"standin/internal/operation/pagecheck"
	"standin/internal/recording/transcript"
	"standin/internal/recording/transcript/streaming"
	"standin/internal/server/service"
)

type doctorCommand struct {
	Check   doctorCheckCommand   `cmd:"" default:"withargs" help:"Check this machine, or inspect a meeting page with a profile. The default."`
	Replay  doctorReplayCommand  `cmd:"" help:"Show what a profile concludes from a capture of a page, without a meeting."`
	Profile doctorProfileCommand `cmd:"" help:"Print the built-in profile of a platform's pages, the words of all pages, or the known notetakers."`
	Learn   doctorLearnCommand   `cmd:"" help:"Propose candidates for the elements that a profile does not find in a capture of a page."`
}

// pageFlags are how a command opens and reads a meeting page.
type pageFlags struct {
	Browser   string `env:"STANDIN_BROWSER" help:"Chromium or Google Chrome. Default: found on PATH."`
	NoSandbox bool   `env:"STANDIN_NO_SANDBOX" help:"Run the browser without its sandbox."`
	Profiles  string `env:"STANDIN_PROFILES" placeholder:"DIR" help:"Directory of page profiles that replace the embedded ones."`
}

// visitFlags are how a command visits a meeting, as bots do.
type visitFlags struct {
	pageFlags
	BrowserMode string `env:"STANDIN_BROWSER_MODE" default:"auto" enum:"auto,headless,headed" help:"How the browser runs, as for bots: headless, headed or auto."`
}

type doctorCheckCommand struct {
	storageFlags
	Listen  string `env:"STANDIN_LISTEN" default:"127.0.0.1:8080" help:"Address and port of the service."`
	BaseURL string `env:"STANDIN_BASE_URL" help:"URL at which programs and browsers reach the service."`
	visitFlags
	JSON bool `help:"Print JSON."`

	service.LauncherSettings
	Engines engines.Settings `embed:""`

	Transcriber transcript.Config `embed:"" prefix:"transcriber-"`
	Live        streaming.Config  `embed:"" prefix:"live-"`

	Mail      bool `env:"STANDIN_MAIL" help:"Check the mail settings, too."`
	mailFlags `embed:"" prefix:"mail-"`

	Platform      job.Platform  `and:"page" group:"Inspect a meeting page:" help:"Platform of the page: meet, teams or zoom-web."`
	URL           string        `and:"page" group:"Inspect a meeting page:" help:"Meeting URL to open."`
	AllowHost     []string      `env:"STANDIN_ALLOWED_MEETING_HOSTS" group:"Inspect a meeting page:" help:"Hosts that may be opened in addition to the platform's hosts."`
	Wait          time.Duration `default:"10s" group:"Inspect a meeting page:" help:"How long to wait until a screen is recognized."`
	Screenshot    string        `placeholder:"FILE" group:"Inspect a meeting page:" help:"Write a PNG screenshot of the page to this file."`
	LoopbackPeers bool          `env:"STANDIN_LOOPBACK_MEETINGS" group:"Inspect a meeting page:" help:"Allow the page to send media over loopback. For replicas only."`
}

// Help describes the checks and the exit code.
func (doctorCheckCommand) Help() string {
	return "Checks that this machine has what Standin needs and says how to fix each problem. Pass the same settings as to " +
		"standin serve. The command changes nothing. Exit code 0 if no check failed.\n\n" +
		"With --platform and --url the command opens a meeting page in a browser, as a bot does, and lists the elements of the " +
		"profile that it found. It does not join. Exit code 0 if it recognized a screen."
}

// Run runs the checks and prints the report.
func (c *doctorCheckCommand) Run(ctx context.Context, to terminal) error {
	if c.URL != "" { // inspect a meeting page
		page, err := pagecheck.InspectPage(ctx, pagecheck.PageSettings{
			Platform: c.Platform, URL: c.URL, AllowedHosts: c.AllowHost, Profiles: c.Profiles, Browser: c.Browser,
			BrowserMode: browser.Mode(c.BrowserMode), NoSandbox: c.NoSandbox,
			Wait: c.Wait, Screenshot: c.Screenshot, LoopbackPeers: c.LoopbackPeers,
		})
		if err != nil {
			return fmt.Errorf("inspect the page: %w", err)
		}
		if err := writeReport(to.Out, page, c.JSON); err != nil {
			return err
		}
		if !page.Recognized() {
			return errors.New("the page matches no screen of the profile")
		}
		return nil
	}
	if os.Geteuid() == 0 { // the checks are for the user whose service it is
		if err := actAsOwner(c.DataDir); err != nil {
			return err
		}
		if os.Geteuid() != 0 {
			if err := os.Setenv("HOME", filepath.Dir(c.DataDir)); err != nil {
				return err
			}
		}
	}
	report := doctor.Run(ctx, doctor.Settings{
		DataSettings: c.DataSettings, StorageSettings: c.StorageSettings, LauncherSettings: c.LauncherSettings, Engines: c.Engines,
		Transcriber: c.Transcriber, Live: c.Live,
		Listen: c.Listen, BaseURL: c.BaseURL, Browser: c.Browser, BrowserMode: browser.Mode(c.BrowserMode), Profiles: c.Profiles,
		Mail: c.Mail || c.SMTPSettings.Listen != "" || c.IMAPURL != "", MailError: c.checkMail(),
	})
	out := unescaped(to.Out) // the text escapes what it shows, and has colors
	if c.JSON {
		out = to.Out
	}
	if err := writeReport(out, report, c.JSON); err != nil {
		return err
	}
	if report.Failed() {
		return errors.New(report.Summary())
	}
	return nil
}
