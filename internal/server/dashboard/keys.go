package dashboard

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/account/device"
	"standin/internal/jobs/job"
)

// keysView is the data of the keys page.
type keysView struct {
	Keys    []account.Key
	Now     time.Time
	NewKey  string // a new key, shown only once
	NewMode job.Mode
	Problem string
	Name    string // of the form
	Command string // sends a bot with the new key
}

func (d *Dashboard) showKeys(req *pageRequest, status int, shown keysView) (err error) {
	if shown.Keys, err = d.Keys.Store.ConsumerKeys(req.Context(), req.User.ConsumerID); err != nil {
		return err
	}
	shown.Now = d.Now()
	shown.Keys = slices.DeleteFunc(shown.Keys, func(key account.Key) bool { return key.Reference && key.Expired(shown.Now) })
	return req.showStatus(status, "keys", "API keys", shown)
}

// createKey creates a key and shows it in the response to the form, and nowhere
// else. Every key that people create has a name.
func (d *Dashboard) createKey(req *pageRequest) error {
	form, mode, secret := req.PostForm, modeOf(req.PostForm), ""
	options := account.KeyOptions{Name: strings.TrimSpace(form.Get("name")), Scope: account.Scope(form.Get("scope"))}
	var err error
	if days := form.Get("days"); days != "" {
		const longest = 10 * 365
		number, parseErr := strconv.ParseUint(days, 10, 16)
		if parseErr != nil || number == 0 || number > longest {
			err = job.NewError(job.InvalidInput, "the expiry is not a number of days", "days")
		}
		options.ExpiresAt = d.Now().AddDate(0, 0, int(number))
	}
	if options.Name == "" {
		err = job.NewError(job.InvalidInput, "the name of the key is missing", "name")
	}
	if err == nil {
		_, secret, err = d.Keys.Create(req.Context(), req.as(mode), mode, options)
	}
	if status, problem, ok := req.correct(err); ok {
		return d.showKeys(req, status, keysView{Problem: problem, Name: options.Name})
	}
	if err != nil {
		return err
	}
	command := fmt.Sprintf(`curl -fsS %s/api/v1/jobs \
  -H "Authorization: Bearer %s" \
  -H "Content-Type: application/json" \
  -d '{"externalId": "first-meeting", "meetingUrl": "https://meet.google.com/abc-defg-hij", "captions": {"enabled": true}, "chat": true}'`,
		d.BaseURL, secret)
	return d.showKeys(req, http.StatusOK, keysView{NewKey: secret, NewMode: mode, Command: command})
}

func (d *Dashboard) revokeKey(req *pageRequest, id uuid.UUID) error {
	if err := d.Keys.Revoke(req.Context(), req.as(job.Live), id); err != nil {
		return err
	}
	d.Revocations.Announce()
	return req.redirect("/keys?note=key-revoked")
}

// cliView is the data of the page that authorizes a command line.
type cliView struct {
	device.PendingFlow
	Nonce string
	Done  bool
}

// cliPage asks the user to authorize a command line.
func (d *Dashboard) cliPage(req *pageRequest) error {
	nonce := req.URL.Query().Get("nonce")
	waiting, err := d.pendingFlow(req, nonce)
	return req.showAfter(err, "cli", "Authorize a command line", cliView{PendingFlow: waiting, Nonce: nonce})
}

var errExpiredFlow = &pageError{
	http.StatusGone, "This link is invalid, was already used, or is older than ten minutes. Run standin login again.",
}

// pendingFlow returns the command line that waits with a nonce.
func (d *Dashboard) pendingFlow(req *pageRequest, nonce string) (device.PendingFlow, error) {
	waiting, ok, err := d.Flows.Pending(req.Context(), nonce)
	if err == nil && !ok {
		err = errExpiredFlow
	}
	return waiting, err
}

// authorizeCLI creates a key for the user's consumer and passes it to the waiting
// command line.
func (d *Dashboard) authorizeCLI(req *pageRequest) error {
	nonce := req.PostForm.Get("nonce")
	waiting, err := d.pendingFlow(req, nonce)
	if err != nil {
		return err
	}
	as := req.as(modeOf(req.PostForm))
	key, secret, err := d.Keys.Create(req.Context(), as, as.Mode, account.KeyOptions{Name: "standin login", Scope: as.Scope})
	if err != nil {
		return err
	}
	if err := d.Flows.Complete(req.Context(), nonce, secret, req.User.Email); err != nil {
		// Nobody received the key.
		revokeErr := d.Keys.Revoke(req.Context(), as, key.ID)
		if errors.Is(err, device.ErrExpired) && revokeErr == nil {
			return errExpiredFlow
		}
		return errors.Join(err, revokeErr)
	}
	return req.show("cli", "Command line authorized", cliView{PendingFlow: waiting, Done: true})
}
