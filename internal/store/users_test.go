package store_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/jobs/job"
	"standin/internal/store"
)

// newUsers returns the users of a database, with a clock that the test sets.
func newUsers(s *store.Store) (*account.Users, *time.Time) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	return account.NewUsers(account.UserSettings{Store: s, Now: func() time.Time { return now }}), &now
}

const userPassword = "correct horse battery"

// createFirstUser creates the first user.
func createFirstUser(t *testing.T, users *account.Users) account.User {
	t.Helper()
	token, ok, err := users.FirstUserToken(t.Context())
	if err != nil || !ok {
		t.Fatalf("no first token: %v, %v", ok, err)
	}
	user, err := users.Accept(t.Context(), token, account.NewUser{
		Name: "Ada", Email: "Ada@Example.test", Consumer: "crew", Password: userPassword,
	})
	if err != nil {
		t.Fatal(err)
	}
	return user
}

// TestFirstUser checks that one first user is created, even with several links.
func TestFirstUser(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		users, _ := newUsers(s)
		var tokens []string
		for range 4 {
			token, ok, err := users.FirstUserToken(t.Context())
			if err != nil || !ok {
				t.Fatalf("no first token: %v, %v", ok, err)
			}
			tokens = append(tokens, token)
		}
		var made sync.Map
		var group sync.WaitGroup
		for i, token := range tokens {
			group.Go(func() {
				user, err := users.Accept(context.WithoutCancel(t.Context()), token, account.NewUser{
					Name: "N", Email: string(rune('a'+i)) + "@example.test", Consumer: "crew", Password: userPassword,
				})
				switch {
				case err == nil:
					made.Store(user.Email, user)
				case !job.ErrorIs(err, job.NotFound):
					t.Errorf("link %d: %v", i, err)
				}
			})
		}
		group.Wait()
		n := 0
		made.Range(func(_, value any) bool {
			n++
			if user := value.(account.User); !user.Operator || !user.Founder || user.Consumer != "crew" {
				t.Errorf("first user %+v", user)
			}
			return true
		})
		if n != 1 {
			t.Errorf("%d first users", n)
		}
		if _, ok, err := users.FirstUserToken(t.Context()); ok || err != nil {
			t.Errorf("a first token was issued although a user exists (%v)", err)
		}
	})
}

// TestInvitation checks that a link works once and before it expires, not for
// existing users, and that only operators invite operators.
func TestInvitation(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		users, now := newUsers(s)
		ada := createFirstUser(t, users)
		if _, err := users.InviteAs(t.Context(), ada, "ADA@example.test ", account.Admin, false); !job.ErrorIs(err, job.InvalidInput) {
			t.Errorf("an existing user was invited: %v", err)
		}
		token, err := users.InviteAs(t.Context(), ada, "bob@example.test", account.Admin, false)
		if err != nil {
			t.Fatal(err)
		}
		for name, request := range map[string]account.NewUser{
			"short password": {Name: "Bob", Password: "elevenchars"}, "no name": {Name: " \n", Password: userPassword},
		} {
			if _, err := users.Accept(t.Context(), token, request); !job.ErrorIs(err, job.InvalidInput) {
				t.Errorf("%s: %v", name, err)
			}
		}
		bob, err := users.Accept(t.Context(), token, account.NewUser{
			Name: "Bob", Password: userPassword, Email: "else@example.test", Consumer: "elsewhere",
		})
		if err != nil || bob.Email != "bob@example.test" || bob.ConsumerID != ada.ConsumerID || bob.Operator {
			t.Fatalf("user %+v (%v)", bob, err)
		}
		if _, err := users.Accept(t.Context(), token, account.NewUser{Name: "Eve", Password: userPassword}); !job.ErrorIs(err, job.NotFound) {
			t.Errorf("the link was accepted twice: %v", err)
		}
		token, err = users.InviteAs(t.Context(), bob, "eve@example.test", account.Admin, true)
		if err != nil {
			t.Fatal(err)
		}
		if invitation, err := users.Invitation(t.Context(), token); err != nil || invitation.Operator || invitation.Consumer != "crew" {
			t.Errorf("a user who is not an operator invited an operator: %+v (%v)", invitation, err)
		}
		*now = now.Add(account.InvitationLifetime)
		if _, err := users.Invitation(t.Context(), token); !job.ErrorIs(err, job.NotFound) {
			t.Errorf("the expired link was accepted: %v", err)
		}
		if err := s.DeleteExpired(t.Context(), *now); err != nil {
			t.Fatal(err)
		}
		if open, err := s.ConsumerInvitations(t.Context(), ada.ConsumerID, now.Add(-time.Hour)); err != nil || len(open) != 0 {
			t.Errorf("%d expired invitations are still stored (%v)", len(open), err)
		}
	})
}

// TestSessions checks that a session ends after its lifetime, after inactivity and
// when the password is changed in another session.
func TestSessions(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		users, now := newUsers(s)
		ada := createFirstUser(t, users)
		begin := *now
		open := func() string {
			t.Helper()
			user, err := users.SignIn(t.Context(), " ADA@example.test", userPassword)
			if err != nil {
				t.Fatal(err)
			}
			secret, _, err := users.Open(t.Context(), user)
			if err != nil {
				t.Fatal(err)
			}
			return secret
		}
		valid := func(secret string) bool {
			t.Helper()
			session, err := users.Session(t.Context(), secret)
			if err != nil && !job.ErrorIs(err, job.Unauthorized) {
				t.Fatal(err)
			}
			return err == nil && session.User.ID == ada.ID && session.User.Consumer == "crew" && session.User.Operator
		}
		used, unused, ended := open(), open(), open()
		session, err := users.Session(t.Context(), ended)
		if err != nil {
			t.Fatal(err)
		}
		if err := users.End(t.Context(), session); err != nil {
			t.Fatal(err)
		}
		if valid(ended) || !valid(used) || valid("") || valid(used[:len(used)-1]+"!") {
			t.Error("wrong sessions are valid")
		}
		for day := range 13 {
			*now = begin.Add(time.Duration(day+1) * 24 * time.Hour)
			if !valid(used) {
				t.Fatalf("a session in daily use ended after %d days", day+1)
			}
		}
		if valid(unused) {
			t.Error("an unused session is valid after 13 days")
		}
		*now = begin.Add(account.SessionLifetime)
		if valid(used) {
			t.Error("a session is valid after its lifetime")
		}

		mine, other := open(), open()
		if session, err = users.Session(t.Context(), mine); err != nil {
			t.Fatal(err)
		}
		if err := users.ChangePassword(t.Context(), session, "wrong", "another good password"); !job.ErrorIs(err, job.InvalidInput) {
			t.Errorf("wrong current password: %v", err)
		}
		if err := users.ChangePassword(t.Context(), session, userPassword, "another good password"); err != nil {
			t.Fatal(err)
		}
		if !valid(mine) || valid(other) {
			t.Error("a password change must end all other sessions and keep its own")
		}
		if _, err := users.SignIn(t.Context(), ada.Email, userPassword); !errors.Is(err, account.ErrBadCredentials) {
			t.Errorf("the old password: %v", err)
		}
	})
}

// inviteBob lets a user invite another one, who accepts.
func inviteBob(t *testing.T, users *account.Users, by account.User, role account.Role) account.User {
	t.Helper()
	token, err := users.InviteAs(t.Context(), by, "bob@example.test", role, false)
	if err != nil {
		t.Fatal(err)
	}
	bob, err := users.Accept(t.Context(), token, account.NewUser{Name: "Bob", Password: userPassword})
	if err != nil {
		t.Fatal(err)
	}
	return bob
}

// TestRemoveUser checks that removing a user ends its sessions, its keys and those that were made
// with them, that these keys may never do more than the user, and that the only operator cannot be
// removed.
func TestRemoveUser(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		users, _ := newUsers(s)
		ada := createFirstUser(t, users)
		bob := inviteBob(t, users, ada, account.Admin)
		secret, _, err := users.Open(t.Context(), bob)
		if err != nil {
			t.Fatal(err)
		}
		stranger := account.User{ID: uuid.Must(uuid.NewV7()), ConsumerID: uuid.Must(uuid.NewV7())}
		for name, try := range map[string]struct {
			by   account.User
			id   uuid.UUID
			want job.ErrorCode
		}{
			"own account": {ada, ada.ID, job.InvalidInput}, "an operator, as another user": {bob, ada.ID, job.InvalidState},
			"user of another consumer": {stranger, bob.ID, job.NotFound}, "unknown user": {ada, uuid.Must(uuid.NewV7()), job.NotFound},
		} {
			if err := users.Remove(t.Context(), try.by, try.id, false); !job.ErrorIs(err, try.want) {
				t.Errorf("remove %s: %v", name, err)
			}
			if err := users.SetRole(t.Context(), try.by, try.id, account.Viewer); !job.ErrorIs(err, try.want) {
				t.Errorf("change the role of %s: %v", name, err)
			}
		}
		if _, err := users.Session(t.Context(), secret); err != nil {
			t.Fatalf("bob's session: %v", err)
		}
		keys := &account.Keys{Store: s, Now: func() time.Time { return now }}
		secrets := make(map[string]string) // of keys, by whom they were made
		for name, by := range map[string]account.Caller{
			"ada": account.CallerOf(ada, job.Live), "bob": account.CallerOf(bob, job.Live), "the team": {
				ConsumerID: ada.ConsumerID, Mode: job.Live, Scope: account.AdminScope,
			},
		} {
			_, made, err := keys.Create(t.Context(), by, job.Live, account.KeyOptions{Scope: account.JobsScope})
			if err != nil {
				t.Fatal(err)
			}
			secrets[name] = made
			if by, err = keys.Authenticate(t.Context(), made); err != nil {
				t.Fatal(err)
			}
			if _, secrets["a key of "+name], err = keys.Create(t.Context(), by, job.Test, account.KeyOptions{Scope: account.ReadScope}); err != nil {
				t.Fatal(err)
			}
		}
		if err := users.SetRole(t.Context(), ada, bob.ID, account.Viewer); err != nil {
			t.Fatal(err)
		}
		if limited, err := keys.Authenticate(t.Context(), secrets["bob"]); err != nil || limited.Scope != account.ReadScope {
			t.Errorf("the key of a member who became a viewer has the scope %q (%v)", limited.Scope, err)
		}
		if err := users.Remove(t.Context(), ada, bob.ID, false); err != nil {
			t.Fatal(err)
		}
		if _, err := users.Session(t.Context(), secret); !job.ErrorIs(err, job.Unauthorized) {
			t.Errorf("the session of a removed user: %v", err)
		}
		for name, made := range secrets {
			if _, err := keys.Authenticate(t.Context(), made); job.ErrorIs(err, job.Unauthorized) != strings.HasSuffix(name, "bob") {
				t.Errorf("after the removal of bob, %s: %v", name, err)
			}
		}
	})
}

// TestKeepKeys checks that the keys of a removed user can stay, as keys of the team, but not those
// of the API reference, and that nobody makes a key that may do more than its maker.
func TestKeepKeys(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		users, _ := newUsers(s)
		ada := createFirstUser(t, users)
		bob := inviteBob(t, users, ada, account.Member)
		keys, as := &account.Keys{Store: s, Now: func() time.Time { return now }}, account.CallerOf(bob, job.Live)
		if _, _, err := keys.Create(t.Context(), as, job.Live, account.KeyOptions{}); !job.ErrorIs(err, job.InvalidState) {
			t.Errorf("a member made a key of an admin: %v", err)
		}
		_, kept, err := keys.Create(t.Context(), as, job.Live, account.KeyOptions{Scope: as.Scope})
		if err != nil {
			t.Fatal(err)
		}
		options := account.KeyOptions{Scope: as.Scope, ExpiresAt: now.Add(time.Hour), Reference: true}
		_, reference, err := keys.Create(t.Context(), as, job.Test, options)
		if err != nil {
			t.Fatal(err)
		}
		caller, err := keys.Authenticate(t.Context(), reference)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := keys.Create(t.Context(), caller, job.Test, account.KeyOptions{Scope: account.ReadScope}); !job.ErrorIs(err,
			job.InvalidState) {
			t.Errorf("a key of the API reference made a key: %v", err)
		}
		if err := s.DeleteExpired(t.Context(), now.Add(2*time.Hour)); err != nil {
			t.Fatal(err)
		}
		if left, err := s.ConsumerKeys(t.Context(), bob.ConsumerID); err != nil || len(left) != 1 {
			t.Errorf("after the expiry of a key of the API reference there are %d keys (%v)", len(left), err)
		}
		if err := users.Remove(t.Context(), ada, bob.ID, true); err != nil {
			t.Fatal(err)
		}
		if team, err := keys.Authenticate(t.Context(), kept); err != nil || team.UserID != uuid.Nil || team.Scope != account.JobsScope {
			t.Errorf("a key that was kept: %+v, %v", team, err)
		}
		if _, err := keys.Authenticate(t.Context(), reference); !job.ErrorIs(err, job.Unauthorized) {
			t.Errorf("a key of the API reference after its user was removed: %v", err)
		}
	})
}

// TestSignInOIDC checks that a sign-in is matched by identity, then by verified
// e-mail, then by invitation.
func TestSignInOIDC(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		users, _ := newUsers(s)
		ada := createFirstUser(t, users)
		if _, err := users.InviteAs(t.Context(), ada, "bob@example.test", account.Admin, false); err != nil {
			t.Fatal(err)
		}
		takeOver := account.Identity{Issuer: "https://id.test", Subject: "1"}
		if _, err := users.SignInOIDC(t.Context(), takeOver, "ADA@example.test", true, "Eve"); !errors.Is(err, account.ErrHasPassword) {
			t.Errorf("an identity was attached to a password account: %v", err)
		}
		if _, err := users.LinkOIDC(t.Context(), ada, takeOver, "eve@example.test", true); !errors.Is(err, account.ErrHasPassword) {
			t.Errorf("an identity with another e-mail was linked: %v", err)
		}
		if _, err := users.LinkOIDC(t.Context(), ada, account.Identity{
			Issuer: "https://id.test", Subject: "9",
		}, "ADA@example.test", true); err != nil {
			t.Fatal(err)
		}
		at := func(subject string) account.Identity {
			return account.Identity{Issuer: "https://id.test", Subject: subject}
		}
		for i, step := range []struct {
			identity account.Identity
			email    string
			verified bool
			want     string // e-mail of the user; empty if the sign-in fails
		}{
			{at("1"), "ada@example.test", false, ""},
			{at("9"), "", false, "ada@example.test"},
			{at("2"), "ada@example.test", true, ""},
			{at("3"), "carol@example.test", true, ""},
			{at("4"), "bob@example.test", false, ""},
			{at("4"), "bob@example.test", true, "bob@example.test"},
			{at("4"), "renamed@example.test", true, "bob@example.test"},
			{account.Identity{Issuer: "https://other.test", Subject: "4"}, "bob@example.test", true, ""},
			{account.Identity{}, "ada@example.test", true, ""},
		} {
			user, err := users.SignInOIDC(t.Context(), step.identity, step.email, step.verified, "Some\x00body")
			if step.want == "" && !errors.Is(err, account.ErrNotInvited) || step.want != "" && (err != nil || user.Email != step.want) {
				t.Errorf("step %d: %s (%v), want %q", i, user.Email, err, step.want)
			}
		}
		if _, err := users.SignIn(t.Context(), "bob@example.test", ""); !errors.Is(err, account.ErrBadCredentials) {
			t.Errorf("a user without a password signed in with an empty one: %v", err)
		}
	})
}
