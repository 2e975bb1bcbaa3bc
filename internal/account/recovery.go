package account

import (
	"context"
	"encoding/base64"
	"time"

	"github.com/google/uuid"
)

// RecoveryStore is the database access of Recovery.
type RecoveryStore interface {
	UserStore
	AppendAudit(ctx context.Context, entry AuditEntry) error
	// SetOperator returns a *job.Error with InvalidState if no operator would remain.
	SetOperator(ctx context.Context, id uuid.UUID, operator bool) error
}

// Recovery changes users on behalf of an administrator of the machine, who needs no
// account. It is for users who are locked out.
type Recovery struct {
	store RecoveryStore
	users *Users
}

// NewRecovery returns a Recovery.
func NewRecovery(store RecoveryStore) *Recovery {
	return &Recovery{store: store, users: NewUsers(UserSettings{Store: store, Now: time.Now})}
}

// ResetPassword sets a random password, ends all sessions of the user, and returns
// the password. It returns a *job.Error with NotFound for an unknown e-mail address.
func (r *Recovery) ResetPassword(ctx context.Context, email string) (string, error) {
	password := base64.RawURLEncoding.EncodeToString(randomBytes(18))
	return password, r.change(ctx, email, "reset the password of a user", func(u User) error {
		hash, err := r.users.newHash(ctx, password)
		if err != nil {
			return err
		}
		return r.store.SetPassword(ctx, u.ID, hash, "")
	})
}

// SetOperator makes a user an operator, or an ordinary user. It returns a *job.Error with InvalidState
// for the only operator.
func (r *Recovery) SetOperator(ctx context.Context, email string, operator bool) error {
	action := "made an operator an ordinary user"
	if operator {
		action = "made a user an operator"
	}
	return r.change(ctx, email, action, func(u User) error { return r.store.SetOperator(ctx, u.ID, operator) })
}

// Invite creates a token for a person to join a consumer with a role.
func (r *Recovery) Invite(ctx context.Context, consumerID uuid.UUID, email string, role Role, operator bool) (string, error) {
	token, err := r.users.InviteAs(ctx, User{ConsumerID: consumerID, Operator: true}, email, role, operator)
	return token, r.audited(ctx, User{ConsumerID: consumerID, Email: email}, "invited a user", err)
}

// SetRole changes the role of a user.
func (r *Recovery) SetRole(ctx context.Context, email string, role Role) error {
	return r.change(ctx, email, "changed the role of a user", func(u User) error {
		return r.users.SetRole(ctx, User{ConsumerID: u.ConsumerID, Operator: true}, u.ID, role)
	})
}

// Remove deletes a user with all sessions. It returns a *job.Error with InvalidState
// for the only operator.
func (r *Recovery) Remove(ctx context.Context, email string) error {
	return r.change(ctx, email, "removed a user", func(u User) error { return r.store.RemoveUser(ctx, u.ConsumerID, u.ID, false) })
}

// change does something with a user.
func (r *Recovery) change(ctx context.Context, email, action string, do func(User) error) error {
	user, err := r.store.UserByEmail(ctx, plainEmail(email))
	if err != nil {
		return err
	}
	return r.audited(ctx, user, action, do(user))
}

// audited adds what was done with a user to the audit log of the user's team, unless it failed.
func (r *Recovery) audited(ctx context.Context, user User, action string, err error) error {
	if err != nil {
		return err
	}
	return r.store.AppendAudit(ctx, NewAuditEntry(user.ConsumerID, CommandLine, action, user.Email, time.Now()))
}
