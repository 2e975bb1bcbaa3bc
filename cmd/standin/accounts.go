package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	"github.com/google/uuid"

	"standin/internal/bot/browser"
	"standin/internal/jobs/event"
	"standin/internal/jobs/job"
	"standin/internal/jobs/lifecycle"
	"standin/internal/jobs/signin"
	"standin/internal/server/service"
	"standin/internal/store"
)

type accountsCommand struct {
	Add    accountsAddCommand    `cmd:"" help:"Add an account of the operator, or of a team."`
	List   accountsListCommand   `cmd:"" help:"List accounts: which can be used, in how many meetings they are, and until when they are signed in."`
	Check  accountsListCommand   `cmd:"" help:"List accounts, and exit with code 1 if a bot cannot sign in with one, or in 14 days no longer."`
	Set    accountsSetCommand    `cmd:"" help:"Change an account, let it rest, or sign it in again."`
	SAML   accountsSAMLCommand   `cmd:"" name:"saml" help:"Print what a Google Workspace domain's SSO profile needs for accounts with --saml."`
	Remove accountsRemoveCommand `cmd:"" help:"Remove an account. A bot that uses it stays in its meeting."`
}

// accountsFlags are the flags of commands for accounts.
type accountsFlags struct {
	dataFlags
	service.KeySettings
}

// ProvideJobs returns the service of the accounts, which Kong passes to the Run methods of commands.
func (f accountsFlags) ProvideJobs(s *store.Store) (*lifecycle.Service, error) {
	sealer, err := f.Sealer(f.DataSettings)
	if err != nil {
		return nil, err
	}
	return lifecycle.New(lifecycle.Settings{Store: s, Sealer: sealer, Now: time.Now, Events: new(event.Publisher)}), nil
}

// accountNamed returns the account that an ID or a label names.
func accountNamed(ctx context.Context, jobs *lifecycle.Service, name string) (found signin.Account, err error) {
	accounts, err := jobs.Accounts(ctx, uuid.Nil)
	if err != nil {
		return found, err
	}
	accounts = slices.DeleteFunc(accounts, func(a signin.Account) bool {
		return a.ID.String() != name && !strings.EqualFold(a.Label, name)
	})
	if len(accounts) != 1 {
		return found, fmt.Errorf("%d accounts are called %q; standin accounts list shows their IDs", len(accounts), name)
	}
	return accounts[0], nil
}

// accountSettings are the settings of an account.
type accountSettings struct {
	Address     string   `help:"Its email address. Invite it to meetings: Google Meet then lets the bot in without waiting."`
	Group       string   `help:"Name for several accounts, which jobs can use."`
	MaxMeetings int      `help:"In how many meetings at once it may be. Default: 1."`
	For         []string `placeholder:"TEAM,…" help:"Teams that may use an account of the operator. Default: all."`
	Cookies     string   `type:"existingfile" placeholder:"FILE" help:"Cookies of the signed-in user, as a browser extension exports them."`
	Profile     string   `type:"existingdir" placeholder:"DIR" help:"Browser profile of the signed-in user."`
}

// state reads the cookies and the browser profile.
func (s accountSettings) state() (*signin.State, error) {
	found := browser.Account{Profile: s.Profile}
	var err error
	if s.Cookies != "" {
		if found.Cookies, err = browser.LoadCookies(s.Cookies); err != nil {
			return nil, err
		}
	}
	if found.Anonymous() {
		return nil, nil
	}
	state, err := found.Pack()
	return &state, err
}

type accountsAddCommand struct {
	accountsFlags
	outputFlags
	accountSettings
	accountOwner
	Platform job.Platform `arg:"" enum:"meet,teams,zoom-web" help:"Platform: meet, teams or zoom-web."`
	Label    string       `arg:"" help:"What you call the account."`
	SAML     bool         `name:"saml" help:"Sign in by SAML as the Google Workspace user of --address. See standin accounts saml."`
}

// Run adds the account.
func (c *accountsAddCommand) Run(ctx context.Context, to terminal, s *store.Store, jobs *lifecycle.Service) error {
	a := signin.Account{
		Platform: c.Platform, Label: c.Label, Address: c.Address, Group: c.Group, MaxMeetings: c.MaxMeetings, Teams: c.For, SAML: c.SAML,
	}
	state, err := c.state()
	if err == nil && state == nil && !c.SAML {
		err = errors.New("give --cookies, --profile or --saml")
	}
	if err == nil {
		a.ConsumerID, err = c.owner(ctx, s)
	}
	if err != nil {
		return err
	}
	state = cmp.Or(state, &signin.State{})
	added, err := jobs.AddAccount(ctx, a, *state)
	return c.printLine(to, showAccount(added), err, added.ID)
}

// accountOwner is the flag for the owner of accounts.
type accountOwner struct {
	Team string `predictor:"team" help:"Team that owns the account. Default: none; it is the operator's."`
}

// owner returns the team; uuid.Nil for the operator.
func (o accountOwner) owner(ctx context.Context, s *store.Store) (uuid.UUID, error) {
	if o.Team == "" {
		return uuid.Nil, nil
	}
	team, err := teamByName(ctx, s, o.Team)
	return team.ID, err
}

type accountsSAMLCommand struct {
	accountsFlags
	outputFlags
	accountOwner
}

// Run prints the identity provider.
func (c *accountsSAMLCommand) Run(ctx context.Context, to terminal, s *store.Store, jobs *lifecycle.Service) error {
	owner, err := c.owner(ctx, s)
	if err != nil {
		return err
	}
	provider, err := jobs.IdentityProvider(ctx, owner)
	line := "IDP entity ID, sign-in page URL and sign-out page URL: " + provider.SignInURL + "\n" + provider.Certificate
	return c.printLine(to, provider, err, line)
}

// shownAccount is the JSON form of an account.
type shownAccount struct {
	signin.Account
	Meetings  int              `json:"meetings"`
	Condition signin.Condition `json:"condition"`
	Reason    string           `json:"reason,omitempty"`
}

func showAccount(a signin.Account) shownAccount {
	condition, reason := a.Condition(time.Now())
	return shownAccount{a, a.Meetings(), condition, reason}
}

type accountsListCommand struct {
	accountsFlags
	outputFlags
}

// Run prints the accounts.
func (c *accountsListCommand) Run(ctx context.Context, parsed *kong.Context, to terminal, jobs *lifecycle.Service) error {
	accounts, err := jobs.Accounts(ctx, uuid.Nil)
	soon := time.Now().AddDate(0, 0, 14)
	var unusable []string
	for _, a := range accounts {
		if condition, _ := a.Condition(soon); condition == signin.SignedOut {
			unusable = append(unusable, a.Label)
		}
	}
	err = printTable(c.outputFlags, to, "ID|PLATFORM|LABEL|ADDRESS|MEETINGS|CONDITION|SIGNED IN UNTIL", rows(accounts, showAccount), err,
		func(a shownAccount) []string {
			return []string{
				a.ID.String(), string(a.Platform), a.Label, a.Address, fmt.Sprintf("%d of %d", a.Meetings, a.MaxMeetings),
				cmp.Or(a.Reason, string(a.Condition)), to.time(a.SignedInUntil),
			}
		})
	if err == nil && parsed.Selected().Name == "check" && len(unusable) > 0 {
		err = fmt.Errorf("sign in again within 14 days: %s", strings.Join(unusable, ", "))
	}
	return err
}

type accountsSetCommand struct {
	accountsFlags
	accountSettings
	Account   string    `arg:"" help:"ID or label of the account."`
	Label     string    `help:"What you call the account."`
	RestUntil time.Time `placeholder:"TIME" help:"Until when no bot uses it, such as +24h."`
	EndRest   bool      `help:"End a rest, also one that followed refusals."`
}

// Run changes the account.
func (c *accountsSetCommand) Run(ctx context.Context, to terminal, jobs *lifecycle.Service) error {
	a, err := accountNamed(ctx, jobs, c.Account)
	if err != nil {
		return err
	}
	state, err := c.state()
	if err != nil {
		return err
	}
	changed, err := jobs.ChangeAccount(ctx, uuid.Nil, a.ID, state, func(a *signin.Account) {
		a.Label, a.Address, a.Group = cmp.Or(c.Label, a.Label), cmp.Or(c.Address, a.Address), cmp.Or(c.Group, a.Group)
		a.MaxMeetings = cmp.Or(c.MaxMeetings, a.MaxMeetings)
		if c.For != nil {
			a.Teams = c.For
		}
		if c.EndRest || !c.RestUntil.IsZero() {
			a.Rest(c.RestUntil, time.Now())
		}
	})
	if err != nil {
		return err
	}
	shown := showAccount(changed)
	return to.println(shown.Label, cmp.Or(shown.Reason, string(shown.Condition)))
}

type accountsRemoveCommand struct {
	accountsFlags
	Account string `arg:"" help:"ID or label of the account."`
}

// Run removes the account.
func (c *accountsRemoveCommand) Run(ctx context.Context, to terminal, jobs *lifecycle.Service) error {
	a, err := accountNamed(ctx, jobs, c.Account)
	if err != nil {
		return err
	}
	if err := jobs.DeleteAccount(ctx, uuid.Nil, a.ID); err != nil {
		return err
	}
	return to.println("removed", a.Label)
}
