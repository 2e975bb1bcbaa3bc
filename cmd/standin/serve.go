package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/alecthomas/kong"

	"standin/internal/launch/engines"
	"standin/internal/operation/doctor"
	"standin/internal/recording/storage/s3"
	"standin/internal/server/dashboard"
	"standin/internal/server/service"
)

type serveCommand struct {
	service.Settings
	Engines engines.Settings `embed:""`

	Mail      bool `env:"STANDIN_MAIL" group:"Mail:" help:"Receive calendar invitations by mail in this process."`
	mailFlags `embed:"" prefix:"mail-" group:"Mail:"`

	HelpAll helpAll `help:"Show all settings, by section."`
}

// Run serves until a signal arrives.
func (c *serveCommand) Run(ctx context.Context, to terminal, parsed *kong.Context) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the standin binary: %w", err)
	}
	if err := c.Engines.CheckServiceURL(c.Launcher, c.BotServiceURL); err != nil {
		return err
	}
	if c.Mail {
		if err := c.checkMail(); err != nil {
			return err
		}
	}
	if len(c.Alerts.Mail) > 0 || c.ReplyURL != "" {
		if c.AlertMail, err = c.replySettings(""); err != nil {
			return err
		}
		c.AlertMail.OAuth = repliesWithOAuth(c.IMAPSettings, c.AlertMail)
	}
	c.OpenEngine, c.OpenS3, c.Executable, c.Tracing.Version, c.Log = c.Engines.Open, s3.Open, self, version(), c.Bots.Logger(to.Err)
	manager, err := newSystemd()
	if err != nil {
		return err
	}
	warnUnknownSettings(parsed.Model, c.Log)
	c.Diagnose = c.diagnose
	c.Log.Info("starting", "version", version())
	s, err := service.Start(ctx, c.Settings)
	if err != nil {
		return err
	}
	for _, check := range c.diagnose(ctx) {
		switch doctor.State(check.State) {
		case doctor.Warn:
			c.Log.Warn("a check found a limitation", "check", check.Check, "found", check.Found, "fix", check.Fix)
		case doctor.Fail:
			c.Log.Error("a check failed", "check", check.Check, "found", check.Found, "fix", check.Fix)
		case doctor.OK:
		}
	}
	fmt.Fprintf(to.Out, "standin %s listening on http://%s\n", version(), s.Addr())
	for _, fact := range s.Summary(ctx) {
		fmt.Fprintf(to.Out, "  %-9s  %s\n", fact.Name, fact.Text)
	}
	link, isFirst, err := s.FirstUserLink(ctx)
	if err == nil && isFirst {
		err = to.printf("open this link to create the first dashboard user; it works once and expires in 24 hours:\n  %s\n", link)
	}
	if err != nil {
		return errors.Join(err, s.Close())
	}
	if err := manager.notify("READY=1", "STATUS=Listening on http://"+s.Addr()); err != nil {
		c.Log.Error("cannot notify systemd that the service has started", "error", err)
	}
	watching, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() { defer close(done); manager.watch(watching, s.Addr(), c.Log) }()
	defer func() { stop(); <-done }()
	if c.Mail { // the mail worker runs beside the service
		settings, err := c.settings(s.BaseURL(), c.Dispatch.AllowedMeetingHosts, c.Log)
		if err != nil {
			return errors.Join(err, s.Close())
		}
		w, err := s.OpenMail(ctx, settings)
		if err != nil {
			return errors.Join(err, s.Close())
		}
		if address := w.SMTPAddr(); address != "" {
			fmt.Fprintf(to.Out, "standin mail receiving on %s\n", address)
		}
		receiving, stopMail := context.WithCancel(ctx)
		var running sync.WaitGroup
		running.Go(func() { w.Run(receiving) })
		defer func() {
			stopMail()
			running.Wait()
			w.Close()
		}()
	}
	// Programs that libraries start, such as credential plugins of a cluster, inherit the environment: the settings do not stay in it.
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "STANDIN_") {
			if err := os.Unsetenv(name); err != nil {
				return errors.Join(err, s.Close())
			}
		}
	}
	select {
	case <-ctx.Done():
		c.Log.Info("shutting down: draining requests; bots keep running (a second signal stops at once)")
		err = manager.notify("STOPPING=1")
	case err = <-s.Failed():
	}
	return errors.Join(err, s.Close())
}

// diagnose makes the quick checks of this machine.
func (c *serveCommand) diagnose(ctx context.Context) (findings []dashboard.Finding) {
	report := doctor.RunQuick(ctx, doctor.Settings{
		DataSettings: c.DataSettings, Listen: c.Listen, BaseURL: c.BaseURL, Profiles: c.Bots.Profiles,
	})
	for _, check := range report.Checks {
		findings = append(findings, dashboard.Finding{Check: check.Name, State: string(check.State), Found: check.Found, Fix: check.Fix})
	}
	return findings
}
