package account

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/mail"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/semaphore"

	"standin/internal/base/text"
	"standin/internal/jobs/job"
)

// User is a person who signs in to the dashboard. Each belongs to one consumer.
// An operator also has access to the operator page.
type User struct {
	ID           uuid.UUID
	ConsumerID   uuid.UUID
	Consumer     string // name; set when read from the database
	Email        string // lower case
	Name         string
	Role         Role // in the team
	Operator     bool
	Founder      bool   // the first user of the service
	PasswordHash string // empty for users of an OpenID Connect provider
	Identity     Identity
	CreatedAt    time.Time
	LastSignInAt time.Time // zero before the first
}

// Identity identifies a user at an OpenID Connect provider. The zero Identity
// means none.
type Identity struct{ Issuer, Subject string }

// Maximum lengths of form fields, in characters.
const (
	maxEmail    = 254 // RFC 5321, section 4.5.3.1
	maxUserName = 100
	maxConsumer = 100
)

// UserStore is the part of the database that Users uses.
type UserStore interface {
	EnsureConsumer(ctx context.Context, consumer Consumer) (Consumer, error)

	HasUsers(ctx context.Context) (bool, error)
	// UserByEmail and UserByIdentity return a *job.Error with NotFound for
	// unknown users.
	UserByEmail(ctx context.Context, email string) (User, error)
	UserByIdentity(ctx context.Context, identity Identity) (User, error)
	ConsumerUsers(ctx context.Context, consumerID uuid.UUID) ([]User, error)
	RecordSignIn(ctx context.Context, id uuid.UUID, now time.Time) error
	SetIdentity(ctx context.Context, id uuid.UUID, identity Identity) error
	// SetPassword ends all sessions of the user except the one with that hash.
	SetPassword(ctx context.Context, id uuid.UUID, passwordHash, keepSession string) error
	// RemoveUser removes a user of the consumer, with all sessions and keys of the user, unless
	// the team keeps the keys. The error is a *job.Error for the last operator and for unknown
	// users.
	RemoveUser(ctx context.Context, consumerID, id uuid.UUID, keepKeys bool) error
	// SetRole returns a *job.Error with NotFound for a user of another consumer.
	SetRole(ctx context.Context, consumerID, id uuid.UUID, role Role) error

	InsertInvitation(ctx context.Context, invitation Invitation) error
	// Invitation returns an invitation that expires after now, or a *job.Error
	// with NotFound.
	Invitation(ctx context.Context, hash string, now time.Time) (Invitation, error)
	InvitationByEmail(ctx context.Context, email string, now time.Time) (Invitation, error)
	ConsumerInvitations(ctx context.Context, consumerID uuid.UUID, now time.Time) ([]Invitation, error)
	// AcceptInvitation deletes the invitation and inserts the user, both or
	// neither. The error is a *job.Error with NotFound for an invitation that is
	// used or expired and for a second founder, and with InvalidInput for an
	// e-mail that is taken.
	AcceptInvitation(ctx context.Context, hash string, user User, now time.Time) error
	DeleteInvitation(ctx context.Context, consumerID uuid.UUID, hash string) error

	InsertSession(ctx context.Context, session Session) error
	// Session returns the session and its user, or a *job.Error with NotFound.
	Session(ctx context.Context, hash string, now time.Time) (Session, error)
	TouchSession(ctx context.Context, hash string, now time.Time) error
	EndSession(ctx context.Context, hash string) error
}

// Users manages users, their invitations and their sessions.
type Users struct {
	UserSettings
	hashing *semaphore.Weighted // of hashes that are being computed

	linksMu sync.Mutex
	links   map[string]signInLink // by the hash of their token; they end with the process
}

// UserSettings configure Users.
type UserSettings struct {
	Store         UserStore
	Now           func() time.Time
	WebhookSecret string       // secret of new consumers; generated if empty
	Revocations   *Revocations // of this process; nil if nobody waits for them
}

// NewUsers returns Users.
func NewUsers(settings UserSettings) *Users {
	return &Users{UserSettings: settings, hashing: semaphore.NewWeighted(maxConcurrentHashes), links: make(map[string]signInLink)}
}

// ErrBadCredentials is the error of a failed sign-in. It does not reveal whether
// the user exists.
var ErrBadCredentials = errors.New("the email address or the password is wrong")

// SignIn returns the user with that e-mail and password, or ErrBadCredentials. It
// takes equally long for unknown users.
func (u *Users) SignIn(ctx context.Context, email, password string) (User, error) {
	found, err := u.Store.UserByEmail(ctx, plainEmail(email))
	if err != nil && !job.IsNotFound(err) {
		return User{}, err
	}
	same, err := u.matches(ctx, password, cmp.Or(found.PasswordHash, dummyHash))
	if err != nil {
		return User{}, fmt.Errorf("check a password: %w", err)
	}
	if !same || found.PasswordHash == "" {
		return User{}, ErrBadCredentials
	}
	return found, nil
}

// ErrNotInvited is the error for a person whom the provider has authenticated but
// who is not a user and has no invitation.
var ErrNotInvited = errors.New("nobody has invited this email address")

// ErrHasPassword is the error for a person whom the provider has authenticated and
// whose e-mail belongs to a user with a password. LinkOIDC connects the two.
var ErrHasPassword = errors.New("the user with this email address signs in with a password")

// SignInOIDC returns the user whom an OpenID Connect provider has authenticated:
// the user with that identity, else the user with that e-mail and no password, else
// a new user from an invitation of that e-mail. Otherwise the error is
// ErrNotInvited, or ErrHasPassword: whoever created a password account did not prove
// to own its e-mail address. Only an e-mail that the provider has verified counts.
func (u *Users) SignInOIDC(ctx context.Context, identity Identity, email string, verified bool, name string) (found User, err error) {
	if identity.Issuer == "" || identity.Subject == "" {
		return found, ErrNotInvited
	}
	found, err = u.Store.UserByIdentity(ctx, identity)
	if err == nil || !job.IsNotFound(err) {
		return found, err
	}
	email = plainEmail(email)
	if !verified || email == "" {
		return User{}, ErrNotInvited
	}
	found, err = u.Store.UserByEmail(ctx, email)
	switch {
	case err == nil && found.Identity != Identity{}:
		return User{}, ErrNotInvited // the provider has reassigned the address
	case err == nil && found.PasswordHash != "":
		return User{}, ErrHasPassword
	case err == nil:
		found.Identity = identity
		return found, u.Store.SetIdentity(ctx, found.ID, identity)
	case !job.IsNotFound(err):
		return User{}, err
	}
	invitation, err := u.Store.InvitationByEmail(ctx, email, u.Now())
	if job.IsNotFound(err) {
		return User{}, ErrNotInvited
	}
	if err != nil {
		return User{}, err
	}
	invited := invitation.user(u.Now())
	invited.Name, invited.Identity = cmp.Or(text.CleanLine(name, maxUserName), email), identity
	return invited, u.Store.AcceptInvitation(ctx, invitation.Hash, invited, u.Now())
}

// LinkOIDC connects a signed-in user to an identity with the user's verified e-mail.
// Otherwise the error is ErrHasPassword.
func (u *Users) LinkOIDC(ctx context.Context, user User, identity Identity, email string, verified bool) (User, error) {
	if !verified || plainEmail(email) != user.Email || user.Identity != (Identity{}) || identity.Issuer == "" || identity.Subject == "" {
		return User{}, ErrHasPassword
	}
	user.Identity = identity
	return user, u.Store.SetIdentity(ctx, user.ID, identity)
}

// Remove removes a user of the same consumer and ends all of the user's
// sessions and keys, and of the keys that were made with these. With keepKeys, the keys
// belong to the team from then on. Users cannot remove themselves, and only operators can
// remove operators.
func (u *Users) Remove(ctx context.Context, by User, id uuid.UUID, keepKeys bool) error {
	if by.ID == id {
		return job.NewInvalidInput("you cannot remove yourself")
	}
	if err := u.checkOperator(ctx, by, id); err != nil {
		return err
	}
	defer u.Revocations.Announce()
	return u.Store.RemoveUser(ctx, by.ConsumerID, id, keepKeys)
}

// checkOperator returns an error if a user is an operator and who changes the user is none.
func (u *Users) checkOperator(ctx context.Context, by User, id uuid.UUID) error {
	if by.Operator {
		return nil
	}
	users, err := u.Store.ConsumerUsers(ctx, by.ConsumerID)
	if err == nil && slices.ContainsFunc(users, func(user User) bool { return user.ID == id && user.Operator }) {
		err = job.NewInvalidState("only an operator can remove an operator or change the role of one")
	}
	return err
}

// SetRole changes the role of another user of the same consumer. Only operators can change
// that of an operator.
func (u *Users) SetRole(ctx context.Context, by User, id uuid.UUID, role Role) error {
	if err := role.check(); err != nil {
		return err
	}
	if by.ID == id {
		return job.NewInvalidInput("you cannot change your own role", "role")
	}
	if err := u.checkOperator(ctx, by, id); err != nil {
		return err
	}
	return u.Store.SetRole(ctx, by.ConsumerID, id, role)
}

// ChangePassword sets the password of a session's user and ends all other
// sessions of the user. A user who has a password must give the old one.
func (u *Users) ChangePassword(ctx context.Context, session Session, old, password string) error {
	if session.User.PasswordHash != "" {
		same, err := u.matches(ctx, old, session.User.PasswordHash)
		if err != nil {
			return fmt.Errorf("check a password: %w", err)
		}
		if !same {
			return job.NewInvalidInput("The current password is wrong.", "old")
		}
	}
	hash, err := u.newHash(ctx, password)
	if err != nil {
		return err
	}
	defer u.Revocations.Announce()
	return u.Store.SetPassword(ctx, session.User.ID, hash, session.Hash)
}

// plainEmail returns the canonical form of an address, empty for an invalid one.
func plainEmail(email string) string {
	email = strings.ToLower(strings.TrimSpace(email))
	address, err := mail.ParseAddress(email)
	if err != nil || address.Address != email || text.CheckLine(email, maxEmail) != nil {
		return ""
	}
	return email
}

// checkName returns an error for a name that is blank, too long or not a single
// line.
func checkName(field, label, name string, maxLength int) error {
	if strings.TrimSpace(name) == "" {
		return job.NewInvalidInput(label+" is missing.", field)
	}
	if err := text.CheckLine(name, maxLength); err != nil {
		return job.NewInvalidInput(label+" "+err.Error()+".", field)
	}
	return nil
}
