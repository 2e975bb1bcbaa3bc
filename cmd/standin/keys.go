package main

import (
	"context"
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/job"
	"standin/internal/service"
	"standin/internal/store"
)

type keysCommand struct {
	Create keysCreateCommand `cmd:"" help:"Create a key and print it, alone, on standard output. It is not shown again."`
	List   keysListCommand   `cmd:"" help:"Print a line for each key: id, consumer, mode, prefix, created, last used, revoked, created by."`
	Revoke keysRevokeCommand `cmd:"" help:"Revoke a key. It stops working with the next request."`
}

// requireDatabase returns an error if standin serve has not made a database.
func (f dataFlags) requireDatabase() error {
	if service.HasDatabase(f.DatabaseURL, f.DataDir) {
		return nil
	}
	return fmt.Errorf("no Standin database in %s; set STANDIN_DATA_DIR or --data-dir to the data directory of standin serve", f.DataDir)
}

// open opens the database, or makes a new one.
func (f dataFlags) open(ctx context.Context) (*store.Store, error) {
	if !service.Shared(f.DatabaseURL) {
		if err := service.PrepareDataDir(f.DataDir); err != nil {
			return nil, err
		}
	}
	return store.Open(ctx, service.DatabaseAddress(f.DatabaseURL, f.DataDir))
}

// withStore runs fn with the database open. The service may be running.
func (f dataFlags) withStore(ctx context.Context, fn func(*store.Store) error) error {
	if err := f.requireDatabase(); err != nil {
		return err
	}
	s, err := f.open(ctx)
	if err != nil {
		return err
	}
	return errors.Join(fn(s), s.Close())
}

// withNewStore is like withStore, and makes a missing database.
func (f dataFlags) withNewStore(ctx context.Context, to terminal, fn func(*store.Store) error) error {
	created := !service.HasDatabase(f.DatabaseURL, f.DataDir)
	s, err := f.open(ctx)
	if err != nil {
		return err
	}
	if created {
		fmt.Fprintf(to.Err, "created a new database in %s\n", f.DataDir)
	}
	return errors.Join(fn(s), s.Close())
}

type keysCreateCommand struct {
	dataFlags
	Consumer      string `required:"" help:"Name of the consumer, which is created if it does not exist."`
	Email         string `help:"The consumer's e-mail address."`
	Test          bool   `help:"Create a test key. Its jobs run in the simulator and are separate from live jobs."`
	WebhookSecret string `env:"STANDIN_WEBHOOK_SECRET" help:"Webhook secret of a new consumer. Default: a random one. Prefer the environment variable."`
	JSON          bool   `name:"json" help:"Print JSON."`
}

// Run creates the key.
func (c *keysCreateCommand) Run(ctx context.Context, to terminal) error {
	return c.withNewStore(ctx, to, func(s *store.Store) error {
		mode := job.Live
		if c.Test {
			mode = job.Test
		}
		keys := account.Keys{Store: s, Now: time.Now, WebhookSecret: c.WebhookSecret}
		key, secret, err := keys.Issue(ctx, c.Consumer, c.Email, mode)
		if err != nil {
			return err
		}
		if c.JSON {
			return printNewKey(to.Out, key, secret)
		}
		_, err = fmt.Fprintln(to.Out, secret)
		return err
	})
}

type keysListCommand struct {
	dataFlags
	JSON bool `name:"json" help:"Print JSON."`
}

// Run prints the keys.
func (c *keysListCommand) Run(ctx context.Context, to terminal) error {
	return c.withStore(ctx, func(s *store.Store) error {
		keys, err := s.Keys(ctx)
		if err != nil {
			return err
		}
		if c.JSON {
			return printKeys(to.Out, keys)
		}
		table := tabwriter.NewWriter(to.Out, 0, 0, 2, ' ', 0)
		for _, k := range keys {
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", k.ID, oneLine(k.Consumer), k.Mode, k.Prefix, formatUTC(k.CreatedAt), formatUTC(k.LastUsedAt), formatUTC(k.RevokedAt), orDash(oneLine(k.CreatedBy)))
		}
		return table.Flush()
	})
}

// formatUTC formats a time for a list, or a dash for the zero time.
func formatUTC(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}

type keysRevokeCommand struct {
	dataFlags
	ID   string `arg:"" help:"ID of the key, from standin keys list."`
	JSON bool   `name:"json" help:"Print JSON."`
}

// Run revokes the key.
func (c *keysRevokeCommand) Run(ctx context.Context, to terminal) error {
	id, err := uuid.Parse(c.ID)
	if err != nil {
		return fmt.Errorf("%q is not a key ID; standin keys list prints them", c.ID)
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
			return printJSON(to.Out, map[string]any{"id": id, "revoked": true})
		}
		_, err = fmt.Fprintln(to.Out, "revoked", id)
		return err
	})
}
