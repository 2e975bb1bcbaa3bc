package account

import (
	"context"
	"encoding/base64"
	"time"

	"github.com/google/uuid"

	"standin/internal/base/text"
	"standin/internal/jobs/job"
)

// Lifetimes of links that create users.
const (
	firstLinkLifetime  = 24 * time.Hour
	InvitationLifetime = 7 * 24 * time.Hour
)

// Invitation lets one person become a user. Its token is only in the link; the
// database stores the hash.
type Invitation struct {
	Hash       string
	ConsumerID uuid.UUID // uuid.Nil for the first user, who chooses a name
	Consumer   string    // name; set when read from the database
	Email      string    // empty for the first user
	Role       Role
	Operator   bool
	CreatedAt  time.Time
	ExpiresAt  time.Time
}

// First reports whether the invitation is for the first user.
func (i Invitation) First() bool { return i.ConsumerID == uuid.Nil }

// user returns the user that the invitation creates.
func (i Invitation) user(now time.Time) User {
	return User{
		ID: job.NewID(), ConsumerID: i.ConsumerID, Consumer: i.Consumer, Email: i.Email,
		Role: i.Role, Operator: i.Operator, Founder: i.First(), CreatedAt: job.AsStored(now),
	}
}

// TokenLength is the length of a token in characters.
const TokenLength = 43

// NewToken returns a random token of 256 bits. The database stores its Hash.
func NewToken() string { return base64.RawURLEncoding.EncodeToString(randomBytes(32)) }

// FirstUserToken creates a token for the first user's link. It returns false if
// there is already a user.
func (u *Users) FirstUserToken(ctx context.Context) (string, bool, error) {
	exists, err := u.Store.HasUsers(ctx)
	if err != nil || exists {
		return "", false, err
	}
	token, now := NewToken(), u.Now()
	err = u.Store.InsertInvitation(ctx, Invitation{
		Hash: Hash(token), Role: Admin, Operator: true, CreatedAt: now, ExpiresAt: now.Add(firstLinkLifetime),
	})
	return token, err == nil, err
}

// InviteAs creates a token for a person to join the consumer of the inviting user with a role.
// Only operators can invite operators.
func (u *Users) InviteAs(ctx context.Context, by User, email string, role Role, operator bool) (string, error) {
	if err := role.check(); err != nil {
		return "", err
	}
	address := plainEmail(email)
	if address == "" {
		return "", job.NewInvalidInput("This is not an email address.", "email")
	}
	if _, err := u.Store.UserByEmail(ctx, address); err == nil {
		return "", job.NewInvalidInput("There is already a user with this email address.", "email")
	} else if !job.IsNotFound(err) {
		return "", err
	}
	token, now := NewToken(), u.Now()
	return token, u.Store.InsertInvitation(ctx, Invitation{
		Hash: Hash(token), ConsumerID: by.ConsumerID, Email: address, Role: role, Operator: operator && by.Operator,
		CreatedAt: now, ExpiresAt: now.Add(InvitationLifetime),
	})
}

// Invitation returns the invitation with that token. The error is a *job.Error
// with NotFound for one that is used, expired or unknown.
func (u *Users) Invitation(ctx context.Context, token string) (Invitation, error) {
	if len(token) != TokenLength {
		return Invitation{}, job.NewError(job.NotFound, "no such invitation")
	}
	found, err := u.Store.Invitation(ctx, Hash(token), u.Now())
	if err != nil || !found.First() {
		return found, err
	}
	exists, err := u.Store.HasUsers(ctx)
	if err == nil && exists {
		err = job.NewError(job.NotFound, "no such invitation")
	}
	return found, err
}

// NewUser is the form that an invited person fills in.
type NewUser struct {
	Name     string
	Password string
	Email    string // read for the first user only
	Consumer string // read for the first user only
}

// Accept creates the user of an invitation, which can be used only once.
func (u *Users) Accept(ctx context.Context, token string, form NewUser) (user User, err error) {
	invitation, err := u.Invitation(ctx, token)
	if err != nil {
		return user, err
	}
	form.Name, form.Consumer = text.CleanLine(form.Name, len(form.Name)), text.CleanLine(form.Consumer, len(form.Consumer))
	if err := checkName("name", "Your name", form.Name, maxUserName); err != nil {
		return user, err
	}
	user = invitation.user(u.Now())
	if invitation.First() {
		if user.Email = plainEmail(form.Email); user.Email == "" {
			return user, job.NewInvalidInput("This is not an email address.", "email")
		}
		if err := checkName("consumer", "The name of your team", form.Consumer, maxConsumer); err != nil {
			return user, err
		}
	}
	if user.PasswordHash, err = u.newHash(ctx, form.Password); err != nil {
		return user, err
	}
	if invitation.First() {
		consumer, err := u.Store.EnsureConsumer(ctx, NewConsumer(form.Consumer, "", u.WebhookSecret, u.Now()))
		if err != nil {
			return user, err
		}
		user.ConsumerID, user.Consumer = consumer.ID, consumer.Name
	}
	user.Name = form.Name
	return user, u.Store.AcceptInvitation(ctx, invitation.Hash, user, u.Now())
}

// SignInLinkLifetime is how long the token of a sign-in link works.
const SignInLinkLifetime = time.Hour

// signInLink is a user who can sign in with a token.
type signInLink struct {
	user      User
	expiresAt time.Time
}

// SignInToken returns a token with which a user can sign in once, within SignInLinkLifetime and
// while this process runs.
func (u *Users) SignInToken(user User) string {
	token := NewToken()
	u.linksMu.Lock()
	defer u.linksMu.Unlock()
	u.links[Hash(token)] = signInLink{user, u.Now().Add(SignInLinkLifetime)}
	return token
}

// SignInWithToken returns the user of a token of SignInToken, or ErrBadCredentials. The token does
// not work again.
func (u *Users) SignInWithToken(token string) (User, error) {
	u.linksMu.Lock()
	defer u.linksMu.Unlock()
	hash := Hash(token)
	link, ok := u.links[hash]
	delete(u.links, hash)
	if !ok || u.Now().After(link.expiresAt) {
		return User{}, ErrBadCredentials
	}
	return link.user, nil
}
