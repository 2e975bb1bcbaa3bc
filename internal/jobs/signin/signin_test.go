package signin_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/jobs/job"
	"standin/internal/jobs/signin"
)

var now = time.Date(2026, 11, 29, 9, 0, 0, 0, time.UTC)

// recorder returns an account that can be used.
func recorder(n int, change func(*signin.Account)) signin.Account {
	a := signin.Account{
		ID: uuid.NewSHA1(uuid.Nil, fmt.Append(nil, n)), Platform: job.Meet, Label: fmt.Sprint("Recorder ", n), Group: "recorders", MaxMeetings: 2,
		Address: fmt.Sprintf("recorder-%d@example.com", n), LastUsedAt: now.Add(time.Duration(n) * -time.Minute),
	}
	if change != nil {
		change(&a)
	}
	return a
}

// ended returns uses that ended some time ago with a failure.
func ended(ago time.Duration, codes ...job.FailureCode) (uses []signin.Use) {
	for i, code := range codes {
		uses = append(uses, signin.Use{JobID: uuid.New(), FailureCode: code, EndedAt: now.Add(-ago - time.Duration(i)*time.Minute)})
	}
	return uses
}

func TestChoose(t *testing.T) {
	t.Parallel()
	mine := uuid.New()
	uses := func(list ...signin.Use) func(*signin.Account) { return func(a *signin.Account) { a.Uses = list } }
	active := func(meeting string) signin.Use { return signin.Use{JobID: uuid.New(), Meeting: meeting, Active: true} }
	two := []signin.Account{recorder(1, nil), recorder(2, nil)}
	guests := signin.GuestKey("somebody@example.com") + " " + signin.GuestKey("Recorder-1@example.com")
	for _, test := range []struct {
		name     string
		accounts []signin.Account
		wish     signin.Wish
		label    string // of the chosen account
		reason   string // a part of it
	}{
		{"a guest needs none", two, signin.Wish{Mode: job.SignInIfRequired}, "", ""},
		{"always, the longest unused", two, signin.Wish{Mode: job.SignInAlways}, "Recorder 2", "always signs in"},
		{"on the invitation", two, signin.Wish{Mode: job.SignInIfRequired, Guests: guests}, "Recorder 1", "on the invitation"},
		{"a guest was refused", two, signin.Wish{Mode: job.SignInIfRequired, Refusal: "Sign-in wall"}, "Recorder 2", "Sign-in wall"},
		{"named by label", two, signin.Wish{Mode: job.SignInAlways, Account: "recorder 1"}, "Recorder 1", "names recorder 1"},
		{"named by group", two, signin.Wish{Mode: job.SignInAlways, Account: "Recorders"}, "Recorder 2", "names Recorders"},
		{"an unknown name", two, signin.Wish{Mode: job.SignInAlways, Account: "x"}, "", `no account "x"`},
		{"none at all", nil, signin.Wish{Mode: job.SignInAlways}, "", "There is no account for this platform"},
		{"another platform", two, signin.Wish{Platform: job.Teams, Mode: job.SignInAlways}, "", "There is no account"},
		{"again for the same job", []signin.Account{recorder(1, uses(signin.Use{JobID: mine, Active: true, Reason: "before"})), recorder(2, nil)},
			signin.Wish{Mode: job.SignInAlways}, "Recorder 1", "before"},
		{"never twice in a meeting", []signin.Account{recorder(1, uses(active("m")))}, signin.Wish{Mode: job.SignInAlways}, "", "in this meeting already"},
		{"as many meetings as it may", []signin.Account{recorder(1, uses(active("a"), active("b")))}, signin.Wish{Mode: job.SignInAlways}, "",
			"is in 2 of 2 meetings"},
		{"resting as its owner wants", []signin.Account{recorder(1, func(a *signin.Account) { a.RestsUntil = now.Add(time.Hour) })},
			signin.Wish{Mode: job.SignInAlways}, "", "rests until 10:00 UTC"},
		{"signed out", []signin.Account{recorder(1, func(a *signin.Account) { a.SignedInUntil = now })}, signin.Wish{Mode: job.SignInAlways}, "",
			"has been signed out since"},
		{"refused twice", []signin.Account{recorder(1, uses(ended(time.Hour, job.AuthFailure, job.AuthFailure)...))},
			signin.Wish{Mode: job.SignInAlways}, "", "rests until 10:00 UTC on 2026-11-29, because the platform refused it 2 times in a row"},
		{"rested after a refusal", []signin.Account{recorder(1, uses(ended(time.Hour, job.AuthFailure)...))}, signin.Wish{Mode: job.SignInAlways},
			"Recorder 1", ""},
		{"admitted after a refusal", []signin.Account{recorder(1, uses(ended(time.Minute, "", job.AuthFailure)...))},
			signin.Wish{Mode: job.SignInAlways}, "Recorder 1", ""},
		{"other failures are not its fault", []signin.Account{recorder(1, uses(ended(time.Minute, job.LobbyTimeout)...))},
			signin.Wish{Mode: job.SignInAlways}, "Recorder 1", ""},
		{"signed in again after a refusal", []signin.Account{recorder(1, func(a *signin.Account) {
			a.Uses, a.RenewedAt = ended(time.Minute, job.AuthFailure), now
		})}, signin.Wish{Mode: job.SignInAlways}, "Recorder 1", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			wish := test.wish
			if wish.JobID, wish.Meeting = mine, "m"; wish.Platform == "" {
				wish.Platform = job.Meet
			}
			chosen, reason := signin.Choose(test.accounts, wish, now)
			label := ""
			if chosen != nil {
				label = chosen.Label
			}
			if label != test.label || !strings.Contains(reason, test.reason) || test.label == "" && test.reason == "" && reason != "" {
				t.Errorf("chose %q, %q, want %q, %q", label, reason, test.label, test.reason)
			}
		})
	}
}
