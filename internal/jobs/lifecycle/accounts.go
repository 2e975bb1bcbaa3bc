package lifecycle

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/mail"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"standin/internal/base/text"
	"standin/internal/bot/browser"
	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
	"standin/internal/jobs/signin"
	"standin/internal/store"
)

// maxAccountMeetings is the most meetings that an account can be in at once.
const maxAccountMeetings = 100

// Accounts returns the accounts that a team's bots may use; with uuid.Nil, all of the service.
func (s *Service) Accounts(ctx context.Context, consumer uuid.UUID) ([]signin.Account, error) {
	return s.Store.SignInAccounts(ctx, consumer, s.Now())
}

// Account returns an account of a team, or of the operator with uuid.Nil, or a *job.Error with NotFound.
func (s *Service) Account(ctx context.Context, owner, id uuid.UUID) (found signin.Account, err error) {
	accounts, err := s.Accounts(ctx, owner)
	if err != nil {
		return found, err
	}
	i := slices.IndexFunc(accounts, func(a signin.Account) bool { return a.ID == id && (owner == uuid.Nil || a.ConsumerID == owner) })
	if i < 0 {
		return found, job.NewError(job.NotFound, "no such account")
	}
	return accounts[i], nil
}

// AddAccount adds an account of a team, or of the operator. The error is a *job.Error with InvalidInput if
// it cannot be used.
func (s *Service) AddAccount(ctx context.Context, a signin.Account, state signin.State) (signin.Account, error) {
	a.ID, a.CreatedAt, a.RenewedAt, a.MaxMeetings = job.NewID(), s.Now(), s.Now(), cmp.Or(a.MaxMeetings, 1)
	err := checkAccount(&a)
	if err == nil {
		a.Sealed, a.SignedInUntil, err = s.sealState(ctx, a, state)
	}
	if err == nil {
		err = s.Store.AddAccount(ctx, a)
	}
	return a, err
}

// ChangeAccount changes an account of a team, or any with uuid.Nil. A state that is not nil signs it in again.
func (s *Service) ChangeAccount(ctx context.Context, owner, id uuid.UUID, state *signin.State,
	change func(*signin.Account)) (signin.Account, error) {
	a, err := s.Account(ctx, owner, id)
	var sealed string
	var until time.Time
	if err == nil && state != nil {
		sealed, until, err = s.sealState(ctx, a, *state)
	}
	if err != nil {
		return a, err
	}
	err = s.Store.ChangeAccount(ctx, id, func(a *signin.Account) error {
		change(a)
		if state != nil {
			a.Sealed, a.SignedInUntil, a.RenewedAt = sealed, until, s.Now()
		}
		return checkAccount(a)
	})
	if err != nil {
		return a, err
	}
	return s.Account(ctx, owner, id)
}

// checkAccount checks what people write.
func checkAccount(a *signin.Account) error {
	for _, field := range []struct {
		name string
		text *string
	}{{"label", &a.Label}, {"group", &a.Group}, {"address", &a.Address}} {
		if err := text.CheckLine(*field.text, 254); err != nil {
			return job.NewInvalidInput(field.name+" "+err.Error(), field.name)
		}
		*field.text = strings.TrimSpace(*field.text)
	}
	a.Address = strings.ToLower(a.Address)
	parsed, err := mail.ParseAddress(a.Address)
	switch {
	case !slices.Contains([]job.Platform{job.Meet, job.Teams, job.ZoomWeb}, a.Platform):
		return job.NewInvalidInput("bots can sign in on meet, teams and zoom-web", "platform")
	case a.Label == "":
		return job.NewInvalidInput("the label is empty", "label")
	case a.Address != "" && (err != nil || parsed.Address != a.Address):
		return job.NewInvalidInput("address is not a mail address", "address")
	case a.SAML && (a.Platform != job.Meet || a.Address == ""):
		return job.NewInvalidInput("an account that signs in by SAML is on meet, and needs its address", "address")
	case a.MaxMeetings < 1 || a.MaxMeetings > maxAccountMeetings:
		return job.NewInvalidInput(fmt.Sprintf("maxMeetings must be from 1 to %d", maxAccountMeetings), "maxMeetings")
	}
	return nil
}

// sealState encrypts what signs an account in, and returns until when it does. The error is a *job.Error with
// InvalidInput if it signs nobody in.
func (s *Service) sealState(ctx context.Context, a signin.Account, state signin.State) (sealed string, until time.Time, err error) {
	if a.SAML {
		return "", until, nil
	}
	dir, err := os.MkdirTemp("", "standin-account-")
	if err != nil {
		return "", until, err
	}
	defer os.RemoveAll(dir)
	unpacked, err := browser.Unpack(state, filepath.Join(dir, "profile"))
	if err == nil && unpacked.Anonymous() {
		err = errors.New("give cookies or a browser profile")
	}
	if err == nil {
		until, err = unpacked.SignedInUntil(ctx, a.Platform, s.Now())
	}
	if err != nil {
		return "", until, job.NewInvalidInput("the account cannot be used: "+err.Error(), "cookies")
	}
	encoded, err := json.Marshal(state)
	if err != nil {
		return "", until, err
	}
	return s.Sealer.Seal(a.ID.String(), string(encoded)), until, nil
}

// DeleteAccount deletes an account of a team, or any with uuid.Nil. A bot that uses it stays in its meeting.
func (s *Service) DeleteAccount(ctx context.Context, owner, id uuid.UUID) error {
	if _, err := s.Account(ctx, owner, id); err != nil {
		return err
	}
	return s.Store.DeleteAccount(ctx, id)
}

// LendAccount lends an account to a job's bot, until the bot returns it or has ended.
// A bot that signs in by SAML asks again with Google's question.
func (s *Service) LendAccount(ctx context.Context, bot ingest.Bot, ask ingest.AccountRequest) (response ingest.AccountResponse, err error) {
	var chosen *signin.Account
	_, err = s.Change(ctx, bot.JobID(), func(ctx context.Context, c *Change) error {
		chosen, response.Reason = nil, ""
		from, err := s.admit(bot, store.BotJobOf(c.Record))
		if err == nil {
			_, err = from.current()
		}
		if err != nil {
			return err
		}
		team, err := c.readTeam(ctx)
		if err != nil {
			return err
		}
		options := c.Resolved()
		wish := signin.Wish{
			JobID: c.ID, Platform: c.Platform, Meeting: store.MeetingKey(c.MeetingURL), Account: options.Account,
			Mode: cmp.Or(options.SignIn, team.SignIn, job.SignInIfRequired), Refusal: text.Clean(ask.Refusal, maxRefusal),
		}
		if wish.Mode == job.SignInNever {
			return nil
		}
		if wish.Guests, err = c.tx.GuestsOfJob(ctx, c.ID); err != nil {
			return err
		}
		accounts, err := c.tx.LockSignInAccounts(ctx, c.ConsumerID, c.Now)
		if err != nil {
			return err
		}
		chosen, response.Reason = signin.Choose(accounts, wish, c.Now)
		switch {
		case response.Reason == "":
			return nil
		case chosen == nil:
			return c.addEntry(SignIn, map[string]string{"reason": response.Reason})
		}
		if _, lent := chosen.LentTo(c.ID); lent {
			return nil
		}
		if err := c.tx.LendAccount(ctx, chosen.ID, signin.Use{JobID: c.ID, Reason: response.Reason, At: c.Now}); err != nil {
			return err
		}
		return c.addEntry(SignIn, map[string]string{
			"accountId": chosen.ID.String(), "account": chosen.Label, "address": chosen.Address, "reason": response.Reason,
		})
	})
	if err != nil || chosen == nil {
		return response, ingestError(err)
	}
	response.Account = chosen.Label
	if chosen.SAML {
		_, domain, _ := strings.Cut(chosen.Address, "@")
		response.SignInURL = s.googleOrigin() + "/samlredirect?domain=" + url.QueryEscape(domain)
		if ask.SAML != "" {
			response.Page, err = s.answerSAML(ctx, *chosen, ask.SAML)
		}
		return response, err
	}
	opened, err := s.Sealer.Open(chosen.ID.String(), chosen.Sealed)
	if err == nil {
		err = json.Unmarshal([]byte(opened), &response.State)
	}
	if err != nil {
		return response, fmt.Errorf("read the account %s: %w", chosen.Label, err)
	}
	return response, nil
}

// maxRefusal limits the reason why a guest was refused, in characters.
const maxRefusal = 500

// ReturnAccount takes back the account that a job's bot has used. A state that is not empty replaces the
// account's, unless its owner has signed in again meanwhile. The bot of an earlier attempt has nothing to return: a
// later one has the account.
func (s *Service) ReturnAccount(ctx context.Context, bot ingest.Bot, state signin.State) error {
	_, r, err := s.readBot(ctx, bot)
	if err != nil || bot.Attempt() < r.Attempt {
		return err
	}
	accounts, err := s.Accounts(ctx, r.ConsumerID)
	if err != nil {
		return err
	}
	for _, a := range accounts {
		use, lent := a.LentTo(r.ID)
		if !lent || len(state.Cookies)+len(state.Profile) == 0 {
			continue
		}
		sealed, until, err := s.sealState(ctx, a, state)
		if job.ErrorIs(err, job.InvalidInput) {
			break // the platform has signed it out
		}
		if err == nil {
			err = s.Store.ChangeAccount(ctx, a.ID, func(a *signin.Account) error {
				if !a.RenewedAt.After(use.At) {
					a.Sealed, a.SignedInUntil = sealed, until
				}
				return nil
			})
		}
		if err != nil {
			return err
		}
	}
	return s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error { return tx.TakeBackAccount(ctx, r.ID, s.Now()) })
}

// ReadAccountFiles makes the files in the operator's folder accounts of the operator, and reads those again
// that have changed. Accounts whose files are gone are deleted.
func (s *Service) ReadAccountFiles(ctx context.Context) error {
	if s.SignInFolder == "" {
		return nil
	}
	files, err := browser.AccountFiles(s.SignInFolder)
	if err != nil {
		return err
	}
	known, err := s.Accounts(ctx, uuid.Nil)
	if err != nil {
		return err
	}
	for _, a := range known {
		changed, ok := files[a.File]
		switch {
		case a.File == "":
			continue
		case !ok:
			err = errors.Join(err, s.Store.DeleteAccount(ctx, a.ID))
		case !changed.After(a.RenewedAt):
			delete(files, a.File)
		}
	}
	for file := range files {
		platform, label, _ := strings.Cut(file, ".")
		found, readErr := browser.ReadAccount(s.SignInFolder, file)
		var state signin.State
		if readErr == nil {
			state, readErr = found.Pack()
		}
		i := slices.IndexFunc(known, func(a signin.Account) bool { return a.File == file })
		switch {
		case readErr != nil:
		case i >= 0:
			_, readErr = s.ChangeAccount(ctx, uuid.Nil, known[i].ID, &state, func(*signin.Account) {})
		default:
			_, readErr = s.AddAccount(ctx, signin.Account{Platform: job.Platform(platform), Label: cmp.Or(label, platform), File: file}, state)
		}
		if readErr != nil {
			err = errors.Join(err, fmt.Errorf("account %s of the sign-in folder: %w", file, readErr))
		}
	}
	return err
}
