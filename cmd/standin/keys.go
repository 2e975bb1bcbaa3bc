package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"text/tabwriter"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/job"
	"standin/internal/service"
	"standin/internal/store"
)

type keysCommand struct {
	Create keysCreateCommand `cmd:"" help:"Make a key and print it, alone, on standard output. It is shown this once."`
	List   keysListCommand   `cmd:"" help:"Print a line for each key: id, consumer, mode, prefix, created, last used, revoked."`
	Revoke keysRevokeCommand `cmd:"" help:"Revoke a key. It is refused from the next request on."`
}

// open opens the database beside a service that may be running.
func (f dataFlags) open(ctx context.Context) (*store.Store, error) {
	if !service.Shared(f.DatabaseURL) {
		if err := os.MkdirAll(f.DataDir, 0o700); err != nil {
			return nil, fmt.Errorf("make the data folder: %w", err)
		}
	}
	return store.Open(ctx, service.DatabaseAddress(f.DatabaseURL, f.DataDir))
}

// withStore runs fn with the database open.
func (f dataFlags) withStore(ctx context.Context, fn func(*store.Store) error) error {
	s, err := f.open(ctx)
	if err != nil {
		return err
	}
	return errors.Join(fn(s), s.Close())
}

type keysCreateCommand struct {
	dataFlags
	Consumer      string `required:"" help:"Name of the consumer; made when it is new."`
	Email         string `help:"The consumer's e-mail address."`
	Test          bool   `help:"Make a test key: its jobs are kept apart from live ones."`
	WebhookSecret string `env:"STANDIN_WEBHOOK_SECRET" help:"Webhook secret of a new consumer. Default: its own. Better in the environment than on the command line."`
	JSON          bool   `name:"json" help:"Print JSON, for programs."`
}

// Run makes the key.
func (c *keysCreateCommand) Run(ctx context.Context, to terminal) error {
	return c.withStore(ctx, func(s *store.Store) error {
		mode := job.Live
		if c.Test {
			mode = job.Test
		}
		keys := account.Keys{Store: s, Now: time.Now, WebhookSecret: c.WebhookSecret}
		made, secret, err := keys.Issue(ctx, c.Consumer, c.Email, mode)
		if err != nil {
			return err
		}
		if c.JSON {
			return printNewKey(to.out, made, secret)
		}
		_, err = fmt.Fprintln(to.out, secret)
		return err
	})
}

type keysListCommand struct {
	dataFlags
	JSON bool `name:"json" help:"Print JSON, for programs."`
}

// Run prints the keys.
func (c *keysListCommand) Run(ctx context.Context, to terminal) error {
	return c.withStore(ctx, func(s *store.Store) error {
		keys, err := s.Keys(ctx)
		if err != nil {
			return err
		}
		if c.JSON {
			return printKeys(to.out, keys)
		}
		table := tabwriter.NewWriter(to.out, 0, 0, 2, ' ', 0)
		for _, k := range keys {
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", k.ID, k.Consumer, k.Mode, k.Prefix, day(k.CreatedAt), day(k.LastUsedAt), day(k.RevokedAt))
		}
		return table.Flush()
	})
}

// day is a moment as lists show it; a dash for none.
func day(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}

type keysRevokeCommand struct {
	dataFlags
	ID   string `arg:"" help:"The key's id, as standin keys list prints it."`
	JSON bool   `name:"json" help:"Print JSON, for programs."`
}

// Run revokes the key.
func (c *keysRevokeCommand) Run(ctx context.Context, to terminal) error {
	id, err := uuid.Parse(c.ID)
	if err != nil {
		return fmt.Errorf("%q is no key id; standin keys list prints them", c.ID)
	}
	return c.withStore(ctx, func(s *store.Store) error {
		found, err := s.RevokeKey(ctx, id, time.Now())
		if err != nil {
			return err
		}
		if !found {
			return fmt.Errorf("there is no key %s; standin keys list prints them", id)
		}
		if c.JSON {
			return printJSON(to.out, map[string]any{"id": id, "revoked": true})
		}
		_, err = fmt.Fprintln(to.out, "revoked", id)
		return err
	})
}
