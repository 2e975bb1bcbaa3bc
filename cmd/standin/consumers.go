package main

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"standin/internal/account"
	"standin/internal/retention"
	"standin/internal/store"
)

type consumersCommand struct {
	List consumersListCommand `cmd:"" help:"Print a line for each consumer: id, name, e-mail, created."`
	Show consumersShowCommand `cmd:"" help:"Print one consumer."`
	Set  consumersSetCommand  `cmd:"" help:"Change what holds for one consumer. A running service takes it up within a quarter of an hour."`

	RotateSecret consumersRotateSecretCommand `cmd:"" help:"Give a consumer a new webhook secret, printed alone on standard output. It is shown this once; the old one signs too for 24 hours."`
	SetVersion   consumersSetVersionCommand   `cmd:"" name:"set-webhook-version" help:"Set the version of the payloads of a consumer's webhooks."`
}

type consumersListCommand struct {
	dataFlags
	JSON bool `name:"json" help:"Print JSON, for programs."`
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
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", one.ID, one.Name, orDash(one.Email), day(one.CreatedAt))
		}
		return table.Flush()
	})
}

type consumersShowCommand struct {
	dataFlags
	Name   string `arg:"" help:"The consumer's name."`
	Secret bool   `help:"Print the webhook secret too."`
	JSON   bool   `name:"json" help:"Print JSON, for programs."`
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
		fmt.Fprintf(table, "id\t%s\nname\t%s\ne-mail\t%s\nwebhook endpoint\t%s\nwebhook version\t%d\nrecordings kept\t%s\ncreated\t%s\n",
			one.ID, one.Name, orDash(one.Email), orDash(one.WebhookURL), one.WebhookVersion, kept(one), day(one.CreatedAt))
		if c.Secret {
			fmt.Fprintf(table, "webhook secret\t%s\n", one.WebhookSecret)
		}
		return table.Flush()
	})
}

// kept is how long a consumer's recordings are kept, as people read it.
func kept(one account.Consumer) string {
	if one.Retention == nil {
		return "as long as the service keeps them"
	}
	return retention.Period(*one.Retention).String()
}

type consumersSetCommand struct {
	dataFlags
	Name      string `arg:"" help:"The consumer's name."`
	Retention string `required:"" placeholder:"30d" help:"How long the consumer's recordings are kept after their meeting: a time as in 30d or 720h, forever, or default for as long as the service keeps them."`
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
		_, err := fmt.Fprintf(to.out, "recordings of %s are kept: %s\n", c.Name, kept(account.Consumer{Retention: own}))
		return err
	})
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
