package dashboard

import (
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/job"
	"standin/internal/payment"
)

// teamView is what the page of a consumer's users shows.
type teamView struct {
	Users       []account.User
	Invitations []account.Invitation
	Link        string // of a new invitation, shown this once
	LinkFor     string
	Days        int // that it lives
	MinPassword int
	HasPassword bool
	Problem     string
	Email       string
}

func (d *Dashboard) teamPage(x *exchange, session account.Session) error {
	return d.showTeam(x, session, http.StatusOK, teamView{})
}

func (d *Dashboard) showTeam(x *exchange, session account.Session, status int, shown teamView) (err error) {
	if shown.Users, err = d.settings.Users.Of(x.r.Context(), session.User.ConsumerID); err != nil {
		return err
	}
	if shown.Invitations, err = d.settings.Users.Invitations(x.r.Context(), session.User.ConsumerID); err != nil {
		return err
	}
	shown.Days, shown.MinPassword = int(account.InvitationLifetime/(24*time.Hour)), account.MinPassword
	shown.HasPassword = session.User.PasswordHash != ""
	return x.showStatus(status, "team", "Team", shown)
}

// invite makes a link for somebody and shows it, this once.
func (d *Dashboard) invite(x *exchange, session account.Session) error {
	email := x.r.PostForm.Get("email")
	token, err := d.settings.Users.Invite(x.r.Context(), session.User, email, x.r.PostForm.Get("operator") == "on")
	if job.ErrorIs(err, job.InvalidInput) {
		status, problem := x.told(err)
		return d.showTeam(x, session, status, teamView{Problem: problem, Email: email})
	}
	if err != nil {
		return err
	}
	return d.showTeam(x, session, http.StatusOK, teamView{Link: d.invitationLink(token), LinkFor: email})
}

func (d *Dashboard) withdraw(x *exchange, session account.Session) error {
	if err := d.settings.Users.Withdraw(x.r.Context(), session.User, x.r.PostForm.Get("invitation")); err != nil {
		return err
	}
	return x.redirect("/team?note=withdrawn")
}

func (d *Dashboard) removeUser(x *exchange, session account.Session) error {
	id, err := uuid.Parse(x.r.PathValue("id"))
	if err != nil {
		return notFound("There is no such user.")
	}
	if err := d.settings.Users.Remove(x.r.Context(), session.User, id); err != nil {
		return err
	}
	return x.redirect("/team?note=removed")
}

func (d *Dashboard) changePassword(x *exchange, session account.Session) error {
	if err := d.throttle(x.r); err != nil {
		return err
	}
	err := d.settings.Users.ChangePassword(x.r.Context(), session, x.r.PostForm.Get("old"), x.r.PostForm.Get("password"))
	if job.ErrorIs(err, job.InvalidInput) {
		status, problem := x.told(err)
		return d.showTeam(x, session, status, teamView{Problem: problem})
	}
	if err != nil {
		return err
	}
	return x.redirect("/team?note=password")
}

// usageView is what the page of usage shows.
type usageView struct {
	Plan   payment.Plan
	Months []month
}

// month is what a consumer did in a calendar month (UTC).
type month struct {
	Name   string
	Counts []job.UsageCount
	Live   int
	Test   int
}

// shownMonths is how far back usage goes.
const shownMonths = 3

func (d *Dashboard) usagePage(x *exchange, session account.Session) error {
	var shown usageView
	var err error
	if shown.Plan, err = d.settings.Records.ConsumerPlan(x.r.Context(), session.User.ConsumerID); err != nil {
		return fmt.Errorf("read a plan: %w", err)
	}
	now := d.settings.Now().UTC()
	for back := range shownMonths {
		from := time.Date(now.Year(), now.Month()-time.Month(back), 1, 0, 0, 0, 0, time.UTC)
		one := month{Name: from.Format("January 2006")}
		if one.Counts, err = d.settings.Records.Usage(x.r.Context(), session.User.ConsumerID, from, from.AddDate(0, 1, 0)); err != nil {
			return err
		}
		for _, count := range one.Counts {
			if count.Mode == job.Live {
				one.Live += count.Jobs
			} else {
				one.Test += count.Jobs
			}
		}
		shown.Months = append(shown.Months, one)
	}
	return x.show("usage", "Usage", shown)
}
