package main

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"standin/internal/retention"
	"standin/internal/store"
)

type consumersCommand struct {
	List consumersListCommand `cmd:"" help:"Print a line for each consumer: id, name, e-mail, created."`
	Show consumersShowCommand `cmd:"" help:"Print one consumer."`
	Set  consumersSetCommand  `cmd:"" help:"Change the settings of one consumer. A running service applies them within 15 minutes."`

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
			return printConsumers(to.out, consumers)
		}
		table := tabwriter.NewWriter(to.out, 0, 0, 2, ' ', 0)
		for _, one := range consumers {
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", one.ID, one.Name, orDash(one.Email), formatUTC(one.CreatedAt))
		}
		return table.Flush()
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
			return printConsumer(to.out, one, c.Secret)
		}
		table := tabwriter.NewWriter(to.out, 0, 0, 2, ' ', 0)
		fmt.Fprintf(table, "id\t%s\nname\t%s\ne-mail\t%s\nwebhook endpoint\t%s\nwebhook version\t%d\nrecordings kept for\t%s\ncreated\t%s\n",
			one.ID, one.Name, orDash(one.Email), orDash(one.WebhookURL), one.WebhookVersion, retentionText(one.Retention), formatUTC(one.CreatedAt))
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
	Name      string `arg:"" help:"The consumer's name."`
	Retention string `required:"" placeholder:"30d" help:"How long the consumer's recordings are kept after the meeting: a duration such as 30d or 720h, forever, or default for the service's setting."`
}

// Run changes the consumer.
func (c *consumersSetCommand) Run(ctx context.Context, to terminal) error {
	var own *time.Duration
	if c.Retention != "default" {
		period, err := retention.ParsePeriod(c.Retention)
		if err != nil {
			return err
		}
		own = (*time.Duration)(&period)
	}
	return c.withStore(ctx, func(s *store.Store) error {
		if err := s.SetRetention(ctx, c.Name, own); err != nil {
			return fmt.Errorf("consumer %q: %w", c.Name, err)
		}
		_, err := fmt.Fprintf(to.out, "retention of recordings of %s: %s\n", c.Name, retentionText(own))
		return err
	})
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
