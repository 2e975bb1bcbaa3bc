package account

import (
	"context"
	"encoding/base64"
	"fmt"
	"time"

	"github.com/google/uuid"

	"standin/internal/job"
)

// How long the links live that make users.
const (
	FirstLinkLifetime  = 24 * time.Hour
	InvitationLifetime = 7 * 24 * time.Hour
)

// Invitation lets one person become a user, once. Its token is in the link
// alone; what is kept is its hash.
type Invitation struct {
	Hash       string
	ConsumerID uuid.UUID // uuid.Nil for the first user, who names one
	Consumer   string    // its name, filled by reading
	Email      string    // empty for the first user
	Operator   bool
	CreatedAt  time.Time
	ExpiresAt  time.Time
}

// First reports whether the invitation is that of the first user.
func (i Invitation) First() bool { return i.ConsumerID == uuid.Nil }

// user is the user whom the invitation makes.
func (i Invitation) user(now time.Time) User {
	return User{
		ID: uuid.Must(uuid.NewV7()), ConsumerID: i.ConsumerID, Consumer: i.Consumer, Email: i.Email,
		Operator: i.Operator, Founder: i.First(), CreatedAt: now.UTC().Truncate(time.Millisecond),
	}
}

// tokenLength is how long a token is, in characters.
const tokenLength = 43

// newToken makes a token of 256 bits. Like a key it is kept as Hash gives it.
func newToken() string { return base64.RawURLEncoding.EncodeToString(randomBytes(32)) }

// FirstUserToken makes a token for the first user's link; none, and false, when
// there is a user already.
func (u *Users) FirstUserToken(ctx context.Context) (string, bool, error) {
	any, err := u.store.HasUsers(ctx)
	if err != nil || any {
		return "", false, err
	}
	token, now := newToken(), u.now()
	err = u.store.InsertInvitation(ctx, Invitation{Hash: Hash(token), Operator: true, CreatedAt: now, ExpiresAt: now.Add(FirstLinkLifetime)})
	if err != nil {
		return "", false, fmt.Errorf("keep the first user's invitation: %w", err)
	}
	return token, true, nil
}

// Invite makes a token for somebody to join the inviting user's consumer. Only
// an operator makes operators.
func (u *Users) Invite(ctx context.Context, by User, email string, operator bool) (string, error) {
	address := plainEmail(email)
	if address == "" {
		return "", &job.Error{Code: job.InvalidInput, Message: "This is no e-mail address.", Path: []any{"email"}}
	}
	if _, err := u.store.UserByEmail(ctx, address); err == nil {
		return "", emailTaken()
	} else if !job.ErrorIs(err, job.NotFound) {
		return "", err
	}
	token, now := newToken(), u.now()
	err := u.store.InsertInvitation(ctx, Invitation{
		Hash: Hash(token), ConsumerID: by.ConsumerID, Email: address, Operator: operator && by.Operator,
		CreatedAt: now, ExpiresAt: now.Add(InvitationLifetime),
	})
	if err != nil {
		return "", fmt.Errorf("keep an invitation: %w", err)
	}
	return token, nil
}

func emailTaken() error {
	return &job.Error{Code: job.InvalidInput, Message: "There is a user with this e-mail address already.", Path: []any{"email"}}
}

// Invitations lists the invitations of a consumer that are still good.
func (u *Users) Invitations(ctx context.Context, consumerID uuid.UUID) ([]Invitation, error) {
	return u.store.ConsumerInvitations(ctx, consumerID, u.now())
}

// Withdraw makes an invitation of the user's consumer, named by its hash,
// worthless.
func (u *Users) Withdraw(ctx context.Context, by User, hash string) error {
	return u.store.DeleteInvitation(ctx, by.ConsumerID, hash)
}

// Invitation returns the invitation of a token. One that is used up, expired or
// unknown gives a *job.Error with NotFound.
func (u *Users) Invitation(ctx context.Context, token string) (Invitation, error) {
	if len(token) != tokenLength {
		return Invitation{}, &job.Error{Code: job.NotFound, Message: "no such invitation"}
	}
	found, err := u.store.Invitation(ctx, Hash(token), u.now())
	if err != nil || !found.First() {
		return found, err
	}
	any, err := u.store.HasUsers(ctx)
	if err == nil && any {
		err = &job.Error{Code: job.NotFound, Message: "no such invitation"}
	}
	return found, err
}

// NewUser is what somebody who is invited tells.
type NewUser struct {
	Name     string
	Password string
	Email    string // of the first user; others have that of their invitation
	Consumer string // the same
}

// Accept makes the user of an invitation and uses it up.
func (u *Users) Accept(ctx context.Context, token string, wish NewUser) (User, error) {
	invitation, err := u.Invitation(ctx, token)
	if err != nil {
		return User{}, err
	}
	wish.Name, wish.Consumer = oneLine(wish.Name), oneLine(wish.Consumer)
	if err := checkName("name", "Your name", wish.Name, maxUserName); err != nil {
		return User{}, err
	}
	user := invitation.user(u.now())
	if invitation.First() {
		if user.Email = plainEmail(wish.Email); user.Email == "" {
			return User{}, &job.Error{Code: job.InvalidInput, Message: "This is no e-mail address.", Path: []any{"email"}}
		}
		if err := checkName("consumer", "The name of your team", wish.Consumer, maxConsumer); err != nil {
			return User{}, err
		}
	}
	if user.PasswordHash, err = u.newHash(ctx, wish.Password); err != nil {
		return User{}, err
	}
	if invitation.First() {
		consumer, err := u.store.EnsureConsumer(ctx, u.newConsumer(wish.Consumer))
		if err != nil {
			return User{}, fmt.Errorf("find or make consumer %q: %w", wish.Consumer, err)
		}
		user.ConsumerID, user.Consumer = consumer.ID, consumer.Name
	}
	user.Name = wish.Name
	return user, u.store.AcceptInvitation(ctx, invitation.Hash, user, u.now())
}
