package dashboard

import (
	"strconv"
	"time"

	"github.com/google/uuid"

	"standin/internal/jobs/job"
	"standin/internal/jobs/saml"
	"standin/internal/jobs/signin"
	"standin/internal/jobs/zoomstream"
)

// accountsView is the data of the page of the accounts with which bots sign in.
type accountsView struct {
	Accounts []signInView
	Problem  string
	Form     signin.Account
	Provider saml.Provider // if an account of the team signs in by SAML
	ZoomApps []zoomstream.App
	ZoomURL  string // of events
}

// signInView is an account on the page.
type signInView struct {
	signin.Account
	State   signin.Condition
	Reason  string
	Manages bool
	Owner   string // of the forms
	Shown   []signin.Use
}

func (d *Dashboard) showAccounts(req *pageRequest, status int, shown accountsView) error {
	accounts, err := d.Jobs.Accounts(req.Context(), req.User.ConsumerID)
	if err != nil {
		return err
	}
	for _, a := range accounts {
		view := signInView{Account: a, Shown: a.LastUses(req.User.ConsumerID), Manages: a.ConsumerID == req.User.ConsumerID || req.User.Operator}
		view.State, view.Reason = a.Condition(d.Now())
		if a.ConsumerID == uuid.Nil {
			view.Owner = "operator"
		}
		shown.Accounts = append(shown.Accounts, view)
		if a.SAML && a.ConsumerID == req.User.ConsumerID && shown.Provider.EntityID == "" {
			if shown.Provider, err = d.Jobs.IdentityProvider(req.Context(), a.ConsumerID); err != nil {
				return err
			}
		}
	}
	shown.ZoomURL = d.BaseURL + "/webhooks/zoom"
	if shown.ZoomApps, err = d.Jobs.Store.ZoomApps(req.Context(), req.User.ConsumerID); err != nil {
		return err
	}
	return req.showStatus(status, "accounts", "Accounts", shown)
}

// accountOwner returns whose account the user adds or changes: operators also those of the service.
func (req *pageRequest) accountOwner() uuid.UUID {
	if req.User.Operator && req.PostForm.Get("owner") == "operator" {
		return uuid.Nil
	}
	return req.User.ConsumerID
}

func (d *Dashboard) addAccount(req *pageRequest) error {
	form := req.PostForm
	most, _ := strconv.Atoi(form.Get("max"))
	a := signin.Account{
		ConsumerID: req.accountOwner(), Platform: job.Platform(form.Get("platform")), Label: form.Get("name"), Address: form.Get("address"),
		Group: form.Get("group"), MaxMeetings: most, SAML: form.Has("saml"),
	}
	_, err := d.Jobs.AddAccount(req.Context(), a, signin.State{Cookies: []byte(form.Get("cookies"))})
	if status, problem, ok := req.correct(err); ok {
		return d.showAccounts(req, status, accountsView{Problem: problem, Form: a})
	}
	return req.redirectAfter(err, "/accounts?note=account-added")
}

// changeAccount lets an account rest, ends its rest, or removes it.
func (d *Dashboard) changeAccount(req *pageRequest, id uuid.UUID) error {
	var until time.Time
	switch req.PathValue("verb") {
	case "remove":
		return req.redirectAfter(d.Jobs.DeleteAccount(req.Context(), req.accountOwner(), id), "/accounts?note=account-removed")
	case "rest":
		until = d.Now().AddDate(0, 0, 1)
	case "wake":
	default:
		return notFound("There is no such action.")
	}
	_, err := d.Jobs.ChangeAccount(req.Context(), req.accountOwner(), id, nil, func(a *signin.Account) { a.Rest(until, d.Now()) })
	return req.redirectAfter(err, "/accounts?note=account-changed")
}

func (d *Dashboard) addZoomApp(req *pageRequest) error {
	form := req.PostForm
	_, err := d.Jobs.AddZoomApp(req.Context(), zoomstream.App{
		ConsumerID: req.User.ConsumerID, Label: form.Get("name"), ClientID: form.Get("client"), Record: form.Has("record"),
	}, zoomstream.Secrets{ClientSecret: form.Get("secret"), SecretToken: form.Get("token-of-webhooks")})
	if status, problem, ok := req.correct(err); ok {
		return d.showAccounts(req, status, accountsView{Problem: problem})
	}
	return req.redirectAfter(err, "/accounts?note=account-added")
}

func (d *Dashboard) removeZoomApp(req *pageRequest, id uuid.UUID) error {
	return req.redirectAfter(d.Jobs.Store.DeleteZoomApp(req.Context(), req.User.ConsumerID, id), "/accounts?note=account-removed")
}
