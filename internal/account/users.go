package account

import (
	"context"
	"errors"
	"fmt"
	"net/mail"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"standin/internal/job"
	"standin/internal/webhook"
)

// User is somebody who signs in to the dashboard. Each belongs to one
// consumer; an operator sees the machine and all consumers' failures as well.
type User struct {
	ID           uuid.UUID
	ConsumerID   uuid.UUID
	Consumer     string // its name, filled by reading
	Email        string // lower case
	Name         string
	Operator     bool
	Founder      bool   // the first user of the service
	PasswordHash string // empty for those who sign in elsewhere
	Identity     Identity
	CreatedAt    time.Time
	LastSignInAt time.Time // zero when never
}

// Identity names a user at an OpenID Connect provider. The zero Identity is
// none.
type Identity struct{ Issuer, Subject string }

// Bounds of what people type, in characters.
const (
	maxEmail    = 254 // RFC 5321, section 4.5.3.1
	maxUserName = 100
	maxConsumer = 100
)

// UserStore is what Users needs of the database.
type UserStore interface {
	EnsureConsumer(ctx context.Context, consumer Consumer) (Consumer, error)

	HasUsers(ctx context.Context) (bool, error)
	// UserByEmail and UserByIdentity return a *job.Error with NotFound when
	// there is none.
	UserByEmail(ctx context.Context, email string) (User, error)
	UserByIdentity(ctx context.Context, identity Identity) (User, error)
	ConsumerUsers(ctx context.Context, consumerID uuid.UUID) ([]User, error)
	RecordSignIn(ctx context.Context, id uuid.UUID, now time.Time) error
	SetIdentity(ctx context.Context, id uuid.UUID, identity Identity) error
	// SetPassword ends all sessions of the user but the one of that hash.
	SetPassword(ctx context.Context, id uuid.UUID, passwordHash, keepSession string) error
	// RemoveUser removes a user of the consumer with all sessions, but never
	// the last operator: a *job.Error tells of that, or that there is none.
	RemoveUser(ctx context.Context, consumerID, id uuid.UUID) error

	InsertInvitation(ctx context.Context, invitation Invitation) error
	// Invitation returns the one that is valid beyond now, or a *job.Error
	// with NotFound.
	Invitation(ctx context.Context, hash string, now time.Time) (Invitation, error)
	InvitationByEmail(ctx context.Context, email string, now time.Time) (Invitation, error)
	ConsumerInvitations(ctx context.Context, consumerID uuid.UUID, now time.Time) ([]Invitation, error)
	// AcceptInvitation uses the invitation up and keeps the user, both or
	// neither. It is NotFound when the invitation is used up or expired, or for
	// a founder when there is one already, and InvalidInput when the e-mail is
	// another user's.
	AcceptInvitation(ctx context.Context, hash string, user User, now time.Time) error
	DeleteInvitation(ctx context.Context, consumerID uuid.UUID, hash string) error

	InsertSession(ctx context.Context, session Session) error
	// Session returns the session and its user, or a *job.Error with NotFound.
	Session(ctx context.Context, hash string, now time.Time) (Session, error)
	TouchSession(ctx context.Context, hash string, now time.Time) error
	EndSession(ctx context.Context, hash string) error
	// DeleteExpired erases what has ended of sessions and invitations.
	DeleteExpired(ctx context.Context, now time.Time) error
}

// Users makes users, signs them in and keeps their sessions.
type Users struct {
	store         UserStore
	now           func() time.Time
	webhookSecret string
	hashing       chan struct{} // as many places as hashes are computed at a time
}

// UserSettings are what Users are made of.
type UserSettings struct {
	Store         UserStore
	Now           func() time.Time
	WebhookSecret string // of new consumers; each gets its own when empty
}

// NewUsers returns Users.
func NewUsers(settings UserSettings) *Users {
	return &Users{
		store: settings.Store, now: settings.Now, webhookSecret: settings.WebhookSecret,
		hashing: make(chan struct{}, hashesAtATime),
	}
}

// ErrBadCredentials says that an e-mail and a password do not belong together. It does
// not tell whether there is such a user.
var ErrBadCredentials = errors.New("the e-mail address or the password is wrong")

// SignIn finds the user of that e-mail and password, else ErrBadCredentials. It takes
// as long for an e-mail that nobody has.
func (u *Users) SignIn(ctx context.Context, email, password string) (User, error) {
	found, err := u.store.UserByEmail(ctx, plainEmail(email))
	if err != nil && !job.ErrorIs(err, job.NotFound) {
		return User{}, fmt.Errorf("look a user up: %w", err)
	}
	against := found.PasswordHash
	if against == "" {
		against = nobodysHash
	}
	same, err := u.matches(ctx, password, against)
	if err != nil {
		return User{}, fmt.Errorf("check a password: %w", err)
	}
	if !same || found.PasswordHash == "" {
		return User{}, ErrBadCredentials
	}
	return found, nil
}

// ErrNotInvited says that somebody whom a provider knows is no user here.
var ErrNotInvited = errors.New("nobody has invited this e-mail address")

// SignInOIDC finds the user whom an OpenID Connect provider vouches for:
// the one with that identity, else the one with that verified e-mail, else the
// one who is invited under it and becomes a user now; else ErrNotInvited. Only
// an e-mail that the provider has verified counts.
func (u *Users) SignInOIDC(ctx context.Context, identity Identity, email string, verified bool, name string) (User, error) {
	if identity.Issuer == "" || identity.Subject == "" {
		return User{}, ErrNotInvited
	}
	found, err := u.store.UserByIdentity(ctx, identity)
	if err == nil || !job.ErrorIs(err, job.NotFound) {
		return found, err
	}
	email = plainEmail(email)
	if !verified || email == "" {
		return User{}, ErrNotInvited
	}
	found, err = u.store.UserByEmail(ctx, email)
	switch {
	case err == nil && found.Identity != Identity{}:
		return User{}, ErrNotInvited // the address went to somebody else at the provider
	case err == nil:
		found.Identity = identity
		return found, u.store.SetIdentity(ctx, found.ID, identity)
	case !job.ErrorIs(err, job.NotFound):
		return User{}, err
	}
	invitation, err := u.store.InvitationByEmail(ctx, email, u.now())
	if job.ErrorIs(err, job.NotFound) {
		return User{}, ErrNotInvited
	}
	if err != nil {
		return User{}, err
	}
	invited := invitation.user(u.now())
	invited.Name, invited.Identity = shortened(oneLine(name), maxUserName), identity
	if invited.Name == "" {
		invited.Name = email
	}
	return invited, u.store.AcceptInvitation(ctx, invitation.Hash, invited, u.now())
}

// Of lists the users of a consumer, by e-mail.
func (u *Users) Of(ctx context.Context, consumerID uuid.UUID) ([]User, error) {
	return u.store.ConsumerUsers(ctx, consumerID)
}

// Remove removes a user of the same consumer and ends all of the user's
// sessions. Nobody removes himself.
func (u *Users) Remove(ctx context.Context, by User, id uuid.UUID) error {
	if by.ID == id {
		return &job.Error{Code: job.InvalidInput, Message: "you cannot remove yourself"}
	}
	return u.store.RemoveUser(ctx, by.ConsumerID, id)
}

// ChangePassword gives the user of a session another password and ends all
// other sessions. The old one must be right where there is one.
func (u *Users) ChangePassword(ctx context.Context, session Session, old, password string) error {
	if session.User.PasswordHash != "" {
		same, err := u.matches(ctx, old, session.User.PasswordHash)
		if err != nil {
			return fmt.Errorf("check a password: %w", err)
		}
		if !same {
			return &job.Error{Code: job.InvalidInput, Message: "The present password is wrong.", Path: []any{"old"}}
		}
	}
	hash, err := u.newHash(ctx, password)
	if err != nil {
		return err
	}
	return u.store.SetPassword(ctx, session.User.ID, hash, session.Hash)
}

// plainEmail is the one form in which an address is kept; empty for what is
// none.
func plainEmail(text string) string {
	text = strings.ToLower(strings.TrimSpace(text))
	address, err := mail.ParseAddress(text)
	if err != nil || address.Address != text || len(text) > maxEmail || !printableText(text) {
		return ""
	}
	return text
}

// checkName is the error for a name that is blank, too long or not one line.
func checkName(field, what, text string, longest int) error {
	switch {
	case strings.TrimSpace(text) == "":
		return &job.Error{Code: job.InvalidInput, Message: what + " is missing.", Path: []any{field}}
	case utf8.RuneCountInString(text) > longest:
		return &job.Error{Code: job.InvalidInput, Message: fmt.Sprintf("%s may be %d characters long.", what, longest), Path: []any{field}}
	case !printableText(text):
		return &job.Error{Code: job.InvalidInput, Message: what + " holds characters that no name has.", Path: []any{field}}
	}
	return nil
}

// printableText reports whether text is valid and of one line.
func printableText(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl)
}

// oneLine drops what a name cannot hold.
func oneLine(text string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == utf8.RuneError {
			return -1
		}
		return r
	}, text))
}

// shortened is the beginning of a text.
func shortened(text string, longest int) string {
	if runes := []rune(text); len(runes) > longest {
		return string(runes[:longest])
	}
	return text
}

// newConsumer is a consumer that is made when nobody has that name.
func (u *Users) newConsumer(name string) Consumer {
	made := Consumer{
		ID: uuid.Must(uuid.NewV7()), Name: name, WebhookSecret: u.webhookSecret,
		WebhookVersion: webhook.Version2, CreatedAt: u.now(),
	}
	if made.WebhookSecret == "" {
		made.WebhookSecret = webhook.NewSecret()
	}
	return made
}
