package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/job"
	"standin/internal/jobfiles"
	"standin/internal/retention"
	"standin/internal/service"
	"standin/internal/store"
	"standin/internal/webhook"
)

type consumersCommand struct {
	Create consumersCreateCommand `cmd:"" help:"Create a consumer without a key."`

	List consumersListCommand `cmd:"" help:"Print a line for each consumer: id, name, e-mail, created."`
	Show consumersShowCommand `cmd:"" help:"Print one consumer."`
	Set  consumersSetCommand  `cmd:"" help:"Change the settings of one consumer. A running service applies them within 15 minutes."`

	Delete consumersDeleteCommand `cmd:"" help:"Delete a consumer and everything of it: recordings, jobs, keys, users and payments. It cannot be undone."`

	RotateSecret consumersRotateSecretCommand `cmd:"" help:"Create a new webhook secret for a consumer and print it, alone, on standard output. It is not shown again; the old one also signs for 24 hours."`
	SetVersion   consumersSetVersionCommand   `cmd:"" name:"set-webhook-version" help:"Set the payload version of a consumer's webhooks."`
}

type consumersListCommand struct {
	dataFlags
	JSON bool `name:"json" help:"Print JSON."`
}

// Run prints the consumers.
func (c *consumersListCommand) Run(ctx context.Context, to terminal) error {
	return c.withStore(ctx, func(s *store.Store) error {
		consumers, err := s.Consumers(ctx)
		if err != nil {
			return err
		}
		if c.JSON {
			return printConsumers(to.Out, consumers)
		}
		table := tabwriter.NewWriter(to.Out, 0, 0, 2, ' ', 0)
		for _, one := range consumers {
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", one.ID, oneLine(one.Name), orDash(oneLine(one.Email)), formatUTC(one.CreatedAt))
		}
		return table.Flush()
	})
}

type consumersCreateCommand struct {
	dataFlags
	Name          string `arg:"" help:"The consumer's name, which must be free."`
	Email         string `help:"The consumer's e-mail address."`
	WebhookSecret string `env:"STANDIN_WEBHOOK_SECRET" help:"Webhook secret. Default: a random one. Prefer the environment variable."`
	JSON          bool   `name:"json" help:"Print JSON."`
}

// Run creates the consumer.
func (c *consumersCreateCommand) Run(ctx context.Context, to terminal) error {
	return c.withStore(ctx, func(s *store.Store) error {
		wanted := account.NewConsumer(c.Name, c.Email, c.WebhookSecret, time.Now())
		found, err := s.EnsureConsumer(ctx, wanted)
		if err != nil {
			return fmt.Errorf("consumer %q: %w", c.Name, err)
		}
		if found.ID != wanted.ID {
			return fmt.Errorf("consumer %q exists already", c.Name)
		}
		if c.JSON {
			return printConsumer(to.Out, found, false)
		}
		_, err = fmt.Fprintln(to.Out, found.ID)
		return err
	})
}

type consumersShowCommand struct {
	dataFlags
	Name   string `arg:"" help:"The consumer's name."`
	Secret bool   `help:"Print the webhook secret too."`
	JSON   bool   `name:"json" help:"Print JSON."`
}

// Run prints the consumer.
func (c *consumersShowCommand) Run(ctx context.Context, to terminal) error {
	return c.withStore(ctx, func(s *store.Store) error {
		one, err := s.ConsumerByName(ctx, c.Name)
		if err != nil {
			return fmt.Errorf("consumer %q: %w", c.Name, err)
		}
		if c.JSON {
			return printConsumer(to.Out, one, c.Secret)
		}
		table := tabwriter.NewWriter(to.Out, 0, 0, 2, ' ', 0)
		fmt.Fprintf(table, "id\t%s\nname\t%s\ne-mail\t%s\nwebhook endpoint\t%s\nwebhook version\t%d\ntranscript event\t%s\ncommand event\t%s\nrecording mode\t%s\nlayout\t%s\nresolution\t%s\nrecordings kept for\t%s\njobs kept for\t%s\ncreated\t%s\n",
			one.ID, oneLine(one.Name), orDash(oneLine(one.Email)), orDash(oneLine(one.WebhookURL)), one.WebhookVersion, onOff(one.TranscriptEvent), onOff(one.CommandEvent), cmp.Or(string(one.Recording.Mode), serviceDefault), cmp.Or(string(one.Recording.Layout), serviceDefault), cmp.Or(string(one.Recording.Resolution), serviceDefault), retentionText(one.Retention), retentionText(one.JobRetention), formatUTC(one.CreatedAt))
		if c.Secret {
			fmt.Fprintf(table, "webhook secret\t%s\n", one.WebhookSecret)
		}
		return table.Flush()
	})
}

// retentionText describes a consumer's own retention period.
func retentionText(own *time.Duration) string {
	if own == nil {
		return "service default"
	}
	return retention.Period(*own).String()
}

type consumersSetCommand struct {
	dataFlags
	Name            string `arg:"" help:"The consumer's name."`
	Retention       string `placeholder:"30d" help:"How long the consumer's recordings are kept after the meeting: a duration such as 30d or 720h, forever, or default for the service's setting."`
	TranscriptEvent string `placeholder:"on" enum:"on,off," default:"" help:"Send the webhook job.transcript_ready when a transcript was attached: on or off. Off for new consumers."`
	CommandEvent    string `placeholder:"on" enum:"on,off," default:"" help:"Send the webhook bot.command_outcome when a command was executed or has failed: on or off. Off for new consumers."`
	RecordingMode   string `placeholder:"audio" enum:"video,audio,none,default," default:"" help:"What is recorded for jobs of the consumer that do not say: video, audio, none, or default for the service's setting."`
	Layout          string `placeholder:"gallery" enum:"speaker,gallery,content,page,default," default:"" help:"What the video shows for jobs of the consumer that do not say, in the same form: speaker, gallery, content, page or default."`
	Resolution      string `placeholder:"1080p" enum:"720p,1080p,default," default:"" help:"Size of the video for jobs of the consumer that do not say, in the same form: 720p, 1080p or default."`
	JobRetention    string `placeholder:"90d" help:"How long the consumer's jobs are kept after their end, in the same form. A job whose recording is kept stays as long as the recording."`
}

// Run changes the consumer.
func (c *consumersSetCommand) Run(ctx context.Context, to terminal) error {
	if c.Retention == "" && c.JobRetention == "" && c.TranscriptEvent == "" && c.CommandEvent == "" && c.RecordingMode == "" && c.Layout == "" && c.Resolution == "" {
		return errors.New("give --retention, --job-retention, --recording-mode, --layout, --resolution, --transcript-event or --command-event")
	}
	return c.withStore(ctx, func(s *store.Store) error {
		for _, setting := range []struct {
			value, subject string
			set            func(ctx context.Context, name string, retention *time.Duration) error
		}{
			{c.Retention, "recordings", s.SetRetention}, {c.JobRetention, "jobs", s.SetJobRetention},
		} {
			if setting.value == "" {
				continue
			}
			own, err := parseRetention(setting.value)
			if err != nil {
				return err
			}
			if err := setting.set(ctx, c.Name, own); err != nil {
				return fmt.Errorf("consumer %q: %w", c.Name, err)
			}
			if _, err := fmt.Fprintf(to.Out, "retention of %s of %s: %s\n", setting.subject, c.Name, retentionText(own)); err != nil {
				return err
			}
		}
		if err := c.setRecording(ctx, s, to); err != nil {
			return err
		}
		return c.setEvents(ctx, s, to)
	})
}

func (c *consumersSetCommand) setRecording(ctx context.Context, s *store.Store, to terminal) error {
	if c.RecordingMode == "" && c.Layout == "" && c.Resolution == "" {
		return nil
	}
	one, err := s.ConsumerByName(ctx, c.Name)
	if err != nil {
		return fmt.Errorf("consumer %q: %w", c.Name, err)
	}
	own := one.Recording
	if c.RecordingMode != "" {
		own.Mode = job.RecordingMode(strings.TrimPrefix(c.RecordingMode, serviceDefault))
	}
	if c.Layout != "" {
		own.Layout = job.Layout(strings.TrimPrefix(c.Layout, serviceDefault))
	}
	if c.Resolution != "" {
		own.Resolution = job.Resolution(strings.TrimPrefix(c.Resolution, serviceDefault))
	}
	if err := s.SetRecordingOptions(ctx, one.ID, own); err != nil {
		return err
	}
	_, err = fmt.Fprintf(to.Out, "recording of %s: mode %s, layout %s, resolution %s\n", c.Name,
		cmp.Or(string(own.Mode), serviceDefault), cmp.Or(string(own.Layout), serviceDefault), cmp.Or(string(own.Resolution), serviceDefault))
	return err
}

// serviceDefault is the value of a setting that removes the consumer's own.
const serviceDefault = "default"

// setEvents sets which optional events the consumer receives.
func (c *consumersSetCommand) setEvents(ctx context.Context, s *store.Store, to terminal) error {
	for _, event := range []struct {
		value, name string
		set         func(ctx context.Context, consumer uuid.UUID, enabled bool) error
	}{
		{c.TranscriptEvent, webhook.JobTranscriptReady, s.SetTranscriptEvent}, {c.CommandEvent, webhook.BotCommandOutcome, s.SetCommandEvent},
	} {
		if event.value == "" {
			continue
		}
		one, err := s.ConsumerByName(ctx, c.Name)
		if err != nil {
			return fmt.Errorf("consumer %q: %w", c.Name, err)
		}
		if err := event.set(ctx, one.ID, event.value == "on"); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(to.Out, "webhook %s of %s: %s\n", event.name, c.Name, event.value); err != nil {
			return err
		}
	}
	return nil
}

func onOff(enabled bool) string {
	if enabled {
		return "on"
	}
	return "off"
}

// parseRetention parses a retention period, nil for default.
func parseRetention(text string) (*time.Duration, error) {
	if text == "default" {
		return nil, nil
	}
	period, err := retention.ParsePeriod(text)
	return (*time.Duration)(&period), err
}

type consumersDeleteCommand struct {
	dataFlags
	service.StorageSettings
	Name string `arg:"" help:"The consumer's name."`
	Yes  bool   `required:"" help:"Confirm the deletion."`
}

// Help describes the effect.
func (consumersDeleteCommand) Help() string {
	return "Pass the same settings as to standin serve, which may be running. The command revokes the consumer's keys first. " +
		"It refuses while jobs of the consumer have not ended, and when the only operators are its users. It can be repeated after an error."
}

// Run deletes the consumer.
func (c *consumersDeleteCommand) Run(ctx context.Context, to terminal) error {
	return withRecordings(ctx, c.dataFlags, c.StorageSettings, func(s *store.Store, files jobfiles.Files) error {
		consumer, err := s.ConsumerByName(ctx, c.Name)
		if err != nil {
			return fmt.Errorf("consumer %q: %w", c.Name, err)
		}
		cleaner := retention.New(retention.Settings{Store: s, Files: files, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
		jobs, err := cleaner.DeleteConsumer(ctx, consumer.ID)
		if err != nil {
			return fmt.Errorf("delete consumer %q: %w", c.Name, err)
		}
		_, err = fmt.Fprintf(to.Out, "deleted consumer %s and %d jobs\n", c.Name, jobs)
		return err
	})
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
