package main

import (
	"context"
	"fmt"
	"text/tabwriter"

	"standin/internal/store"
)

type consumersCommand struct {
	List consumersListCommand `cmd:"" help:"Print a line for each consumer: id, name, e-mail, created."`
	Show consumersShowCommand `cmd:"" help:"Print one consumer."`
}

type consumersListCommand struct{ dataFlags }

// Run prints the consumers.
func (c *consumersListCommand) Run(ctx context.Context, to terminal) error {
	return c.withStore(ctx, func(s *store.Store) error {
		consumers, err := s.Consumers(ctx)
		if err != nil {
			return err
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
}

// Run prints the consumer.
func (c *consumersShowCommand) Run(ctx context.Context, to terminal) error {
	return c.withStore(ctx, func(s *store.Store) error {
		one, err := s.ConsumerByName(ctx, c.Name)
		if err != nil {
			return fmt.Errorf("consumer %q: %w", c.Name, err)
		}
		table := tabwriter.NewWriter(to.out, 0, 0, 2, ' ', 0)
		fmt.Fprintf(table, "id\t%s\nname\t%s\ne-mail\t%s\nwebhook endpoint\t%s\nwebhook version\t%d\ncreated\t%s\n",
			one.ID, one.Name, orDash(one.Email), orDash(one.WebhookURL), one.WebhookVersion, day(one.CreatedAt))
		if c.Secret {
			fmt.Fprintf(table, "webhook secret\t%s\n", one.WebhookSecret)
		}
		return table.Flush()
	})
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
