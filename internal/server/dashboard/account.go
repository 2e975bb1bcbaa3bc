package dashboard

import (
	"standin/internal/account"
)

// accountView is the data of the page about the signed-in user.
type accountView struct {
	MinPassword int
	HasPassword bool
	CanLink     bool // to the sign-in of the organization
	Problem     string
}

func (d *Dashboard) showAccount(req *pageRequest, status int, problem string) error {
	return req.showStatus(status, "account", "Your account", accountView{
		MinPassword: account.MinPassword, HasPassword: req.User.PasswordHash != "",
		CanLink: d.oidc != nil && req.User.Identity == account.Identity{}, Problem: problem,
	})
}

func (d *Dashboard) changePassword(req *pageRequest) error {
	err := d.Users.ChangePassword(req.Context(), req.Session, req.PostForm.Get("old"), req.PostForm.Get("password"))
	if status, problem, ok := req.correct(err); ok {
		return d.showAccount(req, status, problem)
	}
	return req.redirectAfter(err, "/account?note=password")
}
