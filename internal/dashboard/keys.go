package dashboard

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/account/device"
	"standin/internal/job"
)

// keysView is the data of the keys page.
type keysView struct {
	Keys    []account.Key
	NewKey  string // a new key, shown only once
	NewMode job.Mode
}

func (d *Dashboard) keysPage(req *pageRequest, session account.Session) error {
	return d.showKeys(req, session, keysView{})
}

func (d *Dashboard) showKeys(req *pageRequest, session account.Session, shown keysView) (err error) {
	if shown.Keys, err = d.settings.Keys.ConsumerKeys(req.r.Context(), session.User.ConsumerID); err != nil {
		return err
	}
	return req.show("keys", "API keys", shown)
}

// createKey creates a key and shows it in the response to the form, and nowhere
// else.
func (d *Dashboard) createKey(req *pageRequest, session account.Session) error {
	mode := modeOf(req.r.PostForm)
	key, secret := account.NewKey(session.User.ConsumerID, mode, session.User.Email, d.settings.Now())
	if err := d.settings.Keys.InsertKey(req.r.Context(), key); err != nil {
		return fmt.Errorf("store a key: %w", err)
	}
	return d.showKeys(req, session, keysView{NewKey: secret, NewMode: mode})
}

func (d *Dashboard) revokeKey(req *pageRequest, session account.Session) error {
	id, err := uuid.Parse(req.r.PathValue("id"))
	if err != nil {
		return notFound("There is no such key.")
	}
	known, err := d.settings.Keys.RevokeConsumerKey(req.r.Context(), session.User.ConsumerID, id, d.settings.Now())
	if err != nil {
		return err
	}
	if !known {
		return notFound("There is no such key.")
	}
	d.settings.Revocations.Announce()
	return req.redirect("/keys?note=key-revoked")
}

// cliView is the data of the page that authorizes a command line.
type cliView struct {
	device.PendingFlow
	Nonce string
	Done  bool
}

// cliPage asks the user to authorize a command line.
func (d *Dashboard) cliPage(req *pageRequest, _ account.Session) error {
	nonce := req.r.URL.Query().Get("nonce")
	waiting, ok, err := d.settings.Flows.Pending(req.r.Context(), nonce)
	if err != nil {
		return err
	}
	if !ok {
		return expiredFlow()
	}
	return req.show("cli", "Authorize a command line", cliView{PendingFlow: waiting, Nonce: nonce})
}

func expiredFlow() error {
	return &pageError{http.StatusGone, "This link is invalid, was already used, or is older than ten minutes. Run standin login again."}
}

// authorizeCLI creates a key for the user's consumer and passes it to the waiting
// command line.
func (d *Dashboard) authorizeCLI(req *pageRequest, session account.Session) error {
	nonce := req.r.PostForm.Get("nonce")
	waiting, ok, err := d.settings.Flows.Pending(req.r.Context(), nonce)
	if err != nil {
		return err
	}
	if !ok {
		return expiredFlow()
	}
	key, secret := account.NewKey(session.User.ConsumerID, modeOf(req.r.PostForm), session.User.Email, d.settings.Now())
	if err := d.settings.Keys.InsertKey(req.r.Context(), key); err != nil {
		return fmt.Errorf("store a key: %w", err)
	}
	if err := d.settings.Flows.Complete(req.r.Context(), nonce, secret, session.User.Email); err != nil {
		// Nobody received the key.
		_, revokeErr := d.settings.Keys.RevokeConsumerKey(req.r.Context(), session.User.ConsumerID, key.ID, d.settings.Now())
		if errors.Is(err, device.ErrExpired) && revokeErr == nil {
			return expiredFlow()
		}
		return errors.Join(err, revokeErr)
	}
	return req.show("cli", "Command line authorized", cliView{PendingFlow: waiting, Done: true})
}
