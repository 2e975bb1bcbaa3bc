package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/jobs/job"
	"standin/internal/server/service"
	"standin/internal/store"
)

type keysCommand struct {
	Create keysCreateCommand `cmd:"" help:"Create an API key. Prints only the key; you cannot retrieve it later."`
	List   keysListCommand   `cmd:"" help:"List API keys."`
	Revoke keysRevokeCommand `cmd:"" help:"Revoke a key. It stops working with the next request."`
}

// dataFlags are the flags of commands that use the database.
type dataFlags struct {
	service.DataSettings
	envFileFlags

	opened *store.Store // until AfterRun; nil before
}

// requireDatabase returns an error if standin serve has not made a database.
func (f dataFlags) requireDatabase() error {
	if service.HasDatabase(f.DatabaseURL, f.DataDir) {
		return nil
	}
	if _, err := os.ReadFile(packagedSettings); errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("no Standin database in %s; use sudo to work on the service of this machine", f.DataDir)
	}
	return fmt.Errorf("no Standin database in %s; set STANDIN_DATA_DIR or --data-dir to the data directory of standin serve", f.DataDir)
}

// openStore opens the database until AfterRun, a new one if there is none.
func (f *dataFlags) openStore(ctx context.Context) (s *store.Store, err error) {
	if !store.IsPostgres(f.DatabaseURL) {
		if err := service.PrepareDataDir(f.DataDir); err != nil {
			return nil, err
		}
	}
	f.opened, err = store.Open(ctx, service.DatabaseAddress(f.DatabaseURL, f.DataDir))
	return f.opened, err
}

// ProvideStore returns the open database, which Kong passes to the Run methods of commands. The
// service may be running.
func (f *dataFlags) ProvideStore(ctx context.Context) (*store.Store, error) {
	if f.opened != nil { // for another argument
		return f.opened, nil
	}
	if err := actAsOwner(f.DataDir); err != nil {
		return nil, err
	}
	if err := f.requireDatabase(); err != nil {
		return nil, err
	}
	return f.openStore(ctx)
}

// AfterRun closes the database. Kong calls it.
func (f *dataFlags) AfterRun() error {
	opened := f.opened
	if f.opened = nil; opened == nil {
		return nil
	}
	return opened.Close()
}

// teamFlags are the flags of commands for one team.
type teamFlags struct {
	dataFlags
	Name string `arg:"" predictor:"team" help:"Name of the team."`
}

// ProvideTeam returns the team.
func (f teamFlags) ProvideTeam(ctx context.Context, s *store.Store) (account.Consumer, error) {
	return teamByName(ctx, s, f.Name)
}

func teamByName(ctx context.Context, s *store.Store, name string) (account.Consumer, error) {
	team, err := s.ConsumerByName(ctx, name)
	if err != nil {
		err = fmt.Errorf("team %q: %w", name, err)
	}
	return team, err
}

// newDataFlags are the flags of commands that make a missing database.
type newDataFlags struct{ dataFlags }

// ProvideStore is that of dataFlags, and makes a missing database.
func (f *newDataFlags) ProvideStore(ctx context.Context, to terminal) (*store.Store, error) {
	if err := actAsOwner(f.DataDir); err != nil {
		return nil, err
	}
	created := !service.HasDatabase(f.DatabaseURL, f.DataDir)
	s, err := f.openStore(ctx)
	if err == nil && created {
		fmt.Fprintf(to.Err, "created a new database in %s\n", f.DataDir)
	}
	return s, err
}

type keysCreateCommand struct {
	newDataFlags
	outputFlags
	Team          string    `required:"" aliases:"consumer" predictor:"team" help:"Name of the team, which is created if it does not exist."`
	Email         string    `help:"Email address of a new team."`
	Name          string    `help:"What you call the key, such as the program that uses it."`
	Scope         string    `enum:"read,jobs,admin" default:"admin" help:"What the key may do: read jobs and recordings, also send and control bots (jobs), or everything (admin)."`
	Expires       time.Time `placeholder:"TIME" help:"When the key stops working, such as +720h or '2027-01-01 00:00'. Default: never."`
	Test          bool      `help:"Create a test key. Its jobs run in the simulator and are separate from live jobs."`
	WebhookSecret string    `env:"STANDIN_WEBHOOK_SECRET" help:"Webhook secret of a new team. Default: a random one. Prefer the environment variable."`
}

// Run creates the key.
func (c *keysCreateCommand) Run(ctx context.Context, to terminal, s *store.Store) error {
	mode := job.Live
	if c.Test {
		mode = job.Test
	}
	keys := account.Keys{Store: s, Now: time.Now, WebhookSecret: c.WebhookSecret}
	key, secret, err := keys.IssueWith(ctx, c.Team, c.Email, mode, account.KeyOptions{
		Name: c.Name, Scope: account.Scope(c.Scope), ExpiresAt: c.Expires,
	})
	if err != nil {
		return err
	}
	if err := auditKey(ctx, s, key, "created an API key"); err != nil {
		return err
	}
	created := map[string]any{
		"id": key.ID, "consumerId": key.ConsumerID, "name": key.Name, "mode": key.Mode, "scope": key.Scope,
		"expiresAt": timeOrNull(key.ExpiresAt), "key": secret,
	}
	return c.printLine(to, created, nil, secret)
}

type keysListCommand struct {
	dataFlags
	outputFlags
}

// Run prints the keys.
func (c *keysListCommand) Run(ctx context.Context, to terminal, s *store.Store) error {
	keys, err := s.Keys(ctx)
	header := to.header("ID|TEAM|MODE|KEY|CREATED|LAST USED|REVOKED|CREATED BY|NAME|SCOPE|EXPIRES")
	return printTable(c.outputFlags, to, header, rows(keys, showKey), err, func(k shownKey) []string {
		return []string{
			k.ID, k.Consumer, k.Mode, k.Prefix, to.time(k.CreatedAt), to.maybe(k.LastUsedAt), to.maybe(k.RevokedAt),
			k.CreatedBy, k.Name, k.Scope, to.maybe(k.ExpiresAt),
		}
	})
}

type keysRevokeCommand struct {
	dataFlags
	outputFlags
	ID string `arg:"" help:"ID of the key, from standin keys list."`
}

// Run revokes the key.
func (c *keysRevokeCommand) Run(ctx context.Context, to terminal) error {
	id, err := uuid.Parse(c.ID)
	if err != nil {
		return fmt.Errorf("%q is not a key ID; standin keys list prints them", c.ID)
	}
	s, err := c.ProvideStore(ctx)
	if err != nil {
		return err
	}
	keys, err := s.Keys(ctx)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(keys, func(key account.Key) bool { return key.ID == id })
	if at < 0 {
		return fmt.Errorf("there is no key %s; standin keys list prints them", id)
	}
	key := keys[at]
	if _, err := s.RevokeConsumerKey(ctx, key.ConsumerID, id, time.Now()); err != nil {
		return err
	}
	err = auditKey(ctx, s, key, "revoked an API key")
	return c.printLine(to, map[string]any{"id": id, "revoked": true}, err, "revoked", id)
}

// auditKey adds what was done with a key to the audit log of its team.
func auditKey(ctx context.Context, s *store.Store, key account.Key, action string) error {
	target := cmp.Or(key.Name, key.ID.String())
	return s.AppendAudit(ctx, account.NewAuditEntry(key.ConsumerID, account.CommandLine, action, target, time.Now()))
}
