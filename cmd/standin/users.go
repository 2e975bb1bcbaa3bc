package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"standin/internal/account"
	"standin/internal/store"
)

type usersCommand struct {
	List          usersListCommand    `cmd:"" help:"List dashboard users."`
	Invite        usersInviteCommand  `cmd:"" help:"Create an invitation link (single use, valid for seven days)."`
	ResetPassword usersChangeCommand  `cmd:"" help:"Set a random password and end the user's sessions. Prints only the password."`
	SetRole       usersSetRoleCommand `cmd:"" help:"Change what a user may do in the team."`
	Promote       usersChangeCommand  `cmd:"" help:"Make a user an operator."`
	Demote        usersChangeCommand  `cmd:"" help:"Make an operator an ordinary user. The only operator cannot be demoted."`
	Remove        usersChangeCommand  `cmd:"" help:"Remove a user. The only operator cannot be removed."`
}

// userFlags are the flags of commands for one user.
type userFlags struct {
	dataFlags
	Email string `arg:"" help:"Email address of the user."`
}

// printChange prints what was done with the user, unless it failed.
func (f userFlags) printChange(to terminal, done string, err error) error {
	if err != nil {
		return fmt.Errorf("user %q: %w", f.Email, err)
	}
	return to.println(done)
}

type usersListCommand struct {
	dataFlags
	outputFlags
}

// shownUser is the JSON form of a user.
type shownUser struct {
	Email        string     `json:"email"`
	Name         string     `json:"name"`
	Consumer     string     `json:"consumer"`
	Role         string     `json:"role"` // viewer, member or admin
	Operator     bool       `json:"operator"`
	CreatedAt    time.Time  `json:"createdAt"`
	LastSignInAt *time.Time `json:"lastSignInAt"` // null for a user who never signed in
}

// Run prints the users.
func (c *usersListCommand) Run(ctx context.Context, to terminal, s *store.Store) error {
	users, err := s.AllUsers(ctx)
	shown := rows(users, func(u account.User) shownUser {
		return shownUser{
			Email: u.Email, Name: u.Name, Consumer: u.Consumer, Role: string(u.Role), Operator: u.Operator,
			CreatedAt: u.CreatedAt, LastSignInAt: timeOrNull(u.LastSignInAt),
		}
	})
	return printTable(c.outputFlags, to, to.header("E-MAIL|TEAM|ROLE|CREATED|LAST SIGN-IN"), shown, err, func(u shownUser) []string {
		role := u.Role
		if u.Operator {
			role += ", operator"
		}
		return []string{u.Email, u.Consumer, role, to.time(u.CreatedAt), to.maybe(u.LastSignInAt)}
	})
}

// usersChangeCommand is a command without arguments but the user, which its name chooses.
type usersChangeCommand struct{ userFlags }

// Run changes the user.
func (c *usersChangeCommand) Run(ctx context.Context, parsed *kong.Context, to terminal, s *store.Store) (err error) {
	recovery := account.NewRecovery(s)
	var done string
	switch parsed.Selected().Name {
	case "reset-password":
		done, err = recovery.ResetPassword(ctx, c.Email)
	case "promote":
		done, err = c.Email+" is an operator", recovery.SetOperator(ctx, c.Email, true)
	case "demote":
		done, err = c.Email+" is not an operator", recovery.SetOperator(ctx, c.Email, false)
	default:
		done, err = "removed "+c.Email, recovery.Remove(ctx, c.Email)
	}
	return c.printChange(to, done, err)
}

type usersSetRoleCommand struct {
	userFlags
	Role string `arg:"" enum:"viewer,member,admin" help:"viewer: sees jobs and recordings. member: also sends and controls bots. admin: also manages keys, webhooks and users."`
}

// Run changes the role.
func (c *usersSetRoleCommand) Run(ctx context.Context, to terminal, s *store.Store) error {
	err := account.NewRecovery(s).SetRole(ctx, c.Email, account.Role(c.Role))
	return c.printChange(to, c.Email+" has the role "+c.Role, err)
}

type usersInviteCommand struct {
	userFlags
	Team     string `required:"" aliases:"consumer" predictor:"team" help:"Name of the user's team. See standin teams create."`
	Role     string `enum:"viewer,member,admin" default:"member" help:"What the user may do in the team, as for users set-role."`
	Operator bool   `help:"The user is an operator, who also sees the machine and the failures of all teams."`
	BaseURL  string `env:"STANDIN_BASE_URL" help:"URL of the service, for the link. Default: that of the service that last ran with this database."`
}

// Run creates the invitation.
func (c *usersInviteCommand) Run(ctx context.Context, to terminal, s *store.Store) error {
	team, err := teamByName(ctx, s, c.Team)
	if err != nil {
		return err
	}
	base, err := baseURL(ctx, s, c.BaseURL)
	if err != nil {
		return err
	}
	token, err := account.NewRecovery(s).Invite(ctx, team.ID, c.Email, account.Role(c.Role), c.Operator)
	if err != nil {
		return fmt.Errorf("user %q: %w", c.Email, err)
	}
	return to.printf("%s/welcome?token=%s\n", base, token)
}

// baseURL returns the given URL of the service, or the one with which it last ran.
func baseURL(ctx context.Context, s *store.Store, given string) (string, error) {
	if given != "" {
		return strings.TrimRight(given, "/"), nil
	}
	base, err := s.BaseURL(ctx)
	if err == nil && base == "" {
		err = errors.New("the URL of the service is unknown until standin serve has run; set STANDIN_BASE_URL or --base-url")
	}
	return base, err
}
