package dashboard

import (
	"cmp"
	"net/http"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
)

// teamView is the data of the team page.
type teamView struct {
	Users       []account.User
	Invitations []account.Invitation
	Link        string // of a new invitation, shown only once
	LinkFor     string
	Days        int // for which the link is valid
	Roles       []account.Role
	Problem     string
	Email       string
}

func (d *Dashboard) showTeam(req *pageRequest, status int, shown teamView) (err error) {
	if shown.Users, err = d.Users.Store.ConsumerUsers(req.Context(), req.User.ConsumerID); err != nil {
		return err
	}
	if shown.Invitations, err = d.Users.Store.ConsumerInvitations(req.Context(), req.User.ConsumerID, d.Now()); err != nil {
		return err
	}
	shown.Roles = account.Roles()
	shown.Days = int(account.InvitationLifetime / (24 * time.Hour))
	return req.showStatus(status, "team", "Team", shown)
}

// invite creates an invitation and shows its link in the response, and nowhere
// else.
func (d *Dashboard) invite(req *pageRequest) error {
	email := req.PostForm.Get("email")
	role := account.Role(cmp.Or(req.PostForm.Get("role"), string(account.Member)))
	token, err := d.Users.InviteAs(req.Context(), req.User, email, role, req.PostForm.Get("operator") == "on")
	if status, problem, ok := req.correct(err); ok {
		return d.showTeam(req, status, teamView{Problem: problem, Email: email})
	}
	if err != nil {
		return err
	}
	return d.showTeam(req, http.StatusOK, teamView{Link: d.invitationLink(token), LinkFor: email})
}

func (d *Dashboard) withdraw(req *pageRequest) error {
	return req.redirectAfter(d.Users.Store.DeleteInvitation(req.Context(), req.User.ConsumerID, req.PostForm.Get("invitation")),
		"/team?note=withdrawn")
}

func (d *Dashboard) removeUser(req *pageRequest, id uuid.UUID) error {
	return req.redirectAfter(d.Users.Remove(req.Context(), req.User, id, req.PostForm.Has("keepKeys")), "/team?note=removed")
}

// setRole changes the role of a user.
func (d *Dashboard) setRole(req *pageRequest, id uuid.UUID) error {
	return req.redirectAfter(d.Users.SetRole(req.Context(), req.User, id, account.Role(req.PostForm.Get("role"))), "/team?note=role")
}
