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

// keysView is what the page of keys shows.
type keysView struct {
	Keys   []account.Key
	Made   string // a new key, shown this once
	MadeIn job.Mode
}

func (d *Dashboard) keysPage(x *exchange, session account.Session) error {
	return d.showKeys(x, session, keysView{})
}

func (d *Dashboard) showKeys(x *exchange, session account.Session, shown keysView) (err error) {
	if shown.Keys, err = d.settings.Records.ConsumerKeys(x.r.Context(), session.User.ConsumerID); err != nil {
		return err
	}
	return x.show("keys", "API keys", shown)
}

// createKey makes a key and shows it, this once: the answer to the form holds
// it, and no address leads to it again.
func (d *Dashboard) createKey(x *exchange, session account.Session) error {
	mode := modeOf(x.r.PostForm)
	key, secret := account.NewKey(session.User.ConsumerID, mode, d.settings.Now())
	if err := d.settings.Records.InsertKey(x.r.Context(), key); err != nil {
		return fmt.Errorf("keep a key: %w", err)
	}
	return d.showKeys(x, session, keysView{Made: secret, MadeIn: mode})
}

func (d *Dashboard) revokeKey(x *exchange, session account.Session) error {
	id, err := uuid.Parse(x.r.PathValue("id"))
	if err != nil {
		return notFound("There is no such key.")
	}
	known, err := d.settings.Records.RevokeConsumerKey(x.r.Context(), session.User.ConsumerID, id, d.settings.Now())
	if err != nil {
		return err
	}
	if !known {
		return notFound("There is no such key.")
	}
	return x.redirect("/keys?note=key-revoked")
}

// cliView is what the page shows that lets a command line in.
type cliView struct {
	device.PendingFlow
	Nonce string
	Done  bool
}

// cliPage asks whether a command line may act for the user.
func (d *Dashboard) cliPage(x *exchange, _ account.Session) error {
	nonce := x.r.URL.Query().Get("nonce")
	waiting, ok, err := d.settings.Flows.Pending(x.r.Context(), nonce)
	if err != nil {
		return err
	}
	if !ok {
		return staleFlow()
	}
	return x.show("cli", "Let a command line in", cliView{PendingFlow: waiting, Nonce: nonce})
}

func staleFlow() error {
	return &pageError{http.StatusGone, "This link was used already, is older than ten minutes, or never was one. Run standin login again."}
}

// authorizeCLI makes a key of the user's consumer and hands it to the command
// line that waits for it.
func (d *Dashboard) authorizeCLI(x *exchange, session account.Session) error {
	nonce := x.r.PostForm.Get("nonce")
	waiting, ok, err := d.settings.Flows.Pending(x.r.Context(), nonce)
	if err != nil {
		return err
	}
	if !ok {
		return staleFlow()
	}
	key, secret := account.NewKey(session.User.ConsumerID, modeOf(x.r.PostForm), d.settings.Now())
	if err := d.settings.Records.InsertKey(x.r.Context(), key); err != nil {
		return fmt.Errorf("keep a key: %w", err)
	}
	if err := d.settings.Flows.Complete(x.r.Context(), nonce, secret, session.User.Email); err != nil {
		// Nobody will ever hold this key.
		_, revokeErr := d.settings.Records.RevokeConsumerKey(x.r.Context(), session.User.ConsumerID, key.ID, d.settings.Now())
		if errors.Is(err, device.ErrExpired) && revokeErr == nil {
			return staleFlow()
		}
		return errors.Join(err, revokeErr)
	}
	return x.show("cli", "The command line is in", cliView{PendingFlow: waiting, Done: true})
}
