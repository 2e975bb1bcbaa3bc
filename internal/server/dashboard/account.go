package dashboard

import (
	"net/http"

	"standin/internal/account"
	"standin/internal/jobs/job"
)

// accountView is the data of the page about the signed-in user.
type accountView struct {
	MinPassword int
	HasPassword bool
	CanLink     bool // to the sign-in of the organization
	Problem     string
}

func (d *Dashboard) accountPage(req *pageRequest, session account.Session) error {
	return d.showAccount(req, session, http.StatusOK, "")
}

func (d *Dashboard) showAccount(req *pageRequest, session account.Session, status int, problem string) error {
	return req.showStatus(status, "account", "Your account", accountView{
		MinPassword: account.MinPassword, HasPassword: session.User.PasswordHash != "",
		CanLink: d.oidc != nil && session.User.Identity == account.Identity{}, Problem: problem,
	})
}

func (d *Dashboard) changePassword(req *pageRequest, session account.Session) error {
	if err := d.throttle(req); err != nil {
		return err
	}
	err := d.Users.ChangePassword(req.Context(), session, req.PostForm.Get("old"), req.PostForm.Get("password"))
	if job.ErrorIs(err, job.InvalidInput) {
		status, problem := req.describe(err)
		return d.showAccount(req, session, status, problem)
	}
	if err != nil {
		return err
	}
	return req.redirect("/account?note=password")
}
