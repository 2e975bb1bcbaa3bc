package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"standin/internal/account"
	"standin/internal/job"
	"standin/internal/service"
	"standin/internal/store"
)

// TestUsers creates users as the dashboard does and recovers them with the command
// line: the new password signs in, the old one does not, and the only operator
// cannot be removed.
func TestUsers(t *testing.T) {
	t.Parallel()
	dir := newDataDir(t)
	s, err := (dataFlags{DataSettings: service.DataSettings{DataDir: dir}}).open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	users := account.NewUsers(account.UserSettings{Store: s, Now: time.Now})
	ada := addUser(t, users, s, account.User{})
	ben := addUser(t, users, s, ada)

	if code, out, _ := command("users", "list", "--data-dir", dir); code != 0 || strings.Count(out, "\n") != 2 || !strings.Contains(out, "ada@example.test") {
		t.Errorf("list: exit code %d, %s", code, out)
	}
	code, out, stderr := command("users", "reset-password", " ADA@example.test", "--data-dir", dir)
	if code != 0 {
		t.Fatalf("reset-password: exit code %d, %s", code, stderr)
	}
	if _, err := users.SignIn(t.Context(), ada.Email, strings.TrimSpace(out)); err != nil {
		t.Errorf("sign in with the new password: %v", err)
	}
	if _, err := users.SignIn(t.Context(), ada.Email, testPassword); !errors.Is(err, account.ErrBadCredentials) {
		t.Errorf("sign in with the old password: %v", err)
	}
	if code, _, stderr := command("users", "remove", ada.Email, "--data-dir", dir); code != 1 || !strings.Contains(stderr, "only operator") {
		t.Errorf("remove the only operator: exit code %d, %s", code, stderr)
	}
	if code, _, stderr := command("users", "promote", ben.Email, "--data-dir", dir); code != 0 {
		t.Errorf("promote: exit code %d, %s", code, stderr)
	}
	if code, _, stderr := command("users", "remove", ada.Email, "--data-dir", dir); code != 0 {
		t.Errorf("remove: exit code %d, %s", code, stderr)
	}
	if _, err := s.UserByEmail(t.Context(), ada.Email); !job.ErrorIs(err, job.NotFound) {
		t.Errorf("the removed user: %v", err)
	}
	if user, err := s.UserByEmail(t.Context(), ben.Email); err != nil || !user.Operator {
		t.Errorf("the promoted user: %+v, %v", user, err)
	}
	if code, _, stderr := command("users", "promote", "unknown@example.test", "--data-dir", dir); code != 1 || !strings.Contains(stderr, "no such user") {
		t.Errorf("unknown user: exit code %d, %s", code, stderr)
	}
}

// TestInviteAndDemote creates a consumer and invites a user with the command line,
// who accepts and is made a member.
func TestInviteAndDemote(t *testing.T) {
	t.Parallel()
	dir := newDataDir(t)
	if code, out, stderr := command("consumers", "create", "crew", "--data-dir", dir); code != 0 || len(strings.TrimSpace(out)) != 36 {
		t.Fatalf("consumers create: exit code %d, %s%s", code, out, stderr)
	}
	if code, _, stderr := command("consumers", "create", "crew", "--email", "crew@example.test", "--data-dir", dir); code != 1 || !strings.Contains(stderr, "exists already") {
		t.Errorf("create it again: exit code %d, %s", code, stderr)
	}
	s, err := (dataFlags{DataSettings: service.DataSettings{DataDir: dir}}).open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	users := account.NewUsers(account.UserSettings{Store: s, Now: time.Now})
	for _, email := range []string{"ada@example.test", "ben@example.test"} {
		code, out, stderr := command("users", "invite", email, "--consumer", "crew", "--operator", "--base-url", "https://standin.example.test/", "--data-dir", dir)
		token, found := strings.CutPrefix(strings.TrimSpace(out), "https://standin.example.test/welcome?token=")
		if code != 0 || !found {
			t.Fatalf("invite: exit code %d, %s%s", code, out, stderr)
		}
		if user, err := users.Accept(t.Context(), token, account.NewUser{Name: "User", Password: testPassword}); err != nil || !user.Operator || user.Email != email {
			t.Fatalf("accept: %+v, %v", user, err)
		}
	}
	if code, _, stderr := command("users", "demote", "ada@example.test", "--data-dir", dir); code != 0 {
		t.Errorf("demote: exit code %d, %s", code, stderr)
	}
	if user, err := s.UserByEmail(t.Context(), "ada@example.test"); err != nil || user.Operator {
		t.Errorf("the demoted user: %+v, %v", user, err)
	}
	if code, _, stderr := command("users", "demote", "ben@example.test", "--data-dir", dir); code != 1 || !strings.Contains(stderr, "only operator") {
		t.Errorf("demote the only operator: exit code %d, %s", code, stderr)
	}
	if code, _, stderr := command("users", "invite", "eve@example.test", "--consumer", "unknown", "--data-dir", dir); code != 1 || !strings.Contains(stderr, "unknown") {
		t.Errorf("invite to an unknown consumer: exit code %d, %s", code, stderr)
	}
}

const testPassword = "correct horse battery staple"

// addUser accepts an invitation: the first user's if by is the zero User.
func addUser(t *testing.T, users *account.Users, s *store.Store, by account.User) account.User {
	t.Helper()
	email := "ada@example.test"
	token, _, err := users.FirstUserToken(t.Context())
	if by.Email != "" {
		email = "ben@example.test"
		token, err = users.Invite(t.Context(), by, email, false)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := users.Accept(t.Context(), token, account.NewUser{Name: "User", Email: email, Consumer: "crew", Password: testPassword}); err != nil {
		t.Fatal(err)
	}
	user, err := s.UserByEmail(t.Context(), email)
	if err != nil {
		t.Fatal(err)
	}
	return user
}
