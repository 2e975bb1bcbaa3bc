package httpapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
	"standin/internal/jobs/lifecycle"
	"standin/internal/jobs/signin"
)

// accountBody is the Account schema of api/openapi.yaml.
type accountBody struct {
	ID            uuid.UUID        `json:"id"`
	Owner         string           `json:"owner"`
	Platform      job.Platform     `json:"platform"`
	Label         string           `json:"label"`
	Address       *string          `json:"address"`
	Group         *string          `json:"group"`
	MaxMeetings   int              `json:"maxMeetings"`
	Meetings      int              `json:"meetings"`
	Condition     signin.Condition `json:"condition"`
	Reason        *string          `json:"reason"`
	SignedInUntil *job.Timestamp   `json:"signedInUntil"`
	RestsUntil    *job.Timestamp   `json:"restsUntil"`
	LastUsedAt    *job.Timestamp   `json:"lastUsedAt"`
	CreatedAt     job.Timestamp    `json:"createdAt"`
	Uses          []accountUseBody `json:"uses"`
}

// accountUseBody is a use in the Account schema.
type accountUseBody struct {
	JobID       uuid.UUID     `json:"jobId"`
	At          job.Timestamp `json:"at"`
	Active      bool          `json:"active"`
	Reason      string        `json:"reason"`
	Status      job.Status    `json:"status"`
	FailureCode *string       `json:"failureCode"`
}

// newAccountBody returns an account as a team sees it, with its own jobs.
func newAccountBody(a signin.Account, consumer uuid.UUID) accountBody {
	condition, reason := a.Condition(time.Now())
	body := accountBody{
		ID: a.ID, Owner: "team", Platform: a.Platform, Label: a.Label, Address: nullText(a.Address), Group: nullText(a.Group),
		MaxMeetings: a.MaxMeetings, Meetings: a.Meetings(), Condition: condition, Reason: nullText(reason),
		SignedInUntil: job.NullTimestamp(a.SignedInUntil), RestsUntil: job.NullTimestamp(a.RestsUntil),
		LastUsedAt: job.NullTimestamp(a.LastUsedAt), CreatedAt: job.Timestamp(a.CreatedAt), Uses: []accountUseBody{},
	}
	if a.ConsumerID == uuid.Nil {
		body.Owner = "operator"
	}
	for _, use := range a.Uses {
		if use.ConsumerID == consumer && len(body.Uses) < lifecycle.ShownUses {
			body.Uses = append(body.Uses, accountUseBody{
				use.JobID, job.Timestamp(use.At), use.Active, use.Reason, use.Status, nullText(string(use.FailureCode)),
			})
		}
	}
	return body
}

func (a *API) listAccounts(w http.ResponseWriter, r *http.Request, caller account.Caller) error {
	var query pageQuery
	if err := a.readQuery(w, r, "listAccounts", &query); err != nil {
		return err
	}
	accounts, err := a.Jobs.Accounts(r.Context(), caller.ConsumerID)
	if err != nil {
		return err
	}
	accounts, next, err := lifecycle.PageOf(query.page(), lifecycle.AccountList, accounts, func(found signin.Account) (int64, uuid.UUID) {
		return found.CreatedAt.UnixMilli(), found.ID
	})
	return a.respond(w, http.StatusOK, struct {
		Accounts []accountBody `json:"accounts"`
		Next     *string       `json:"nextCursor"`
	}{bodiesOf(accounts, func(found signin.Account) accountBody { return newAccountBody(found, caller.ConsumerID) }), nullText(next)}, err)
}

func (a *API) createAccount(w http.ResponseWriter, r *http.Request, caller account.Caller) error {
	var request struct {
		Platform    job.Platform `json:"platform"`
		Label       string       `json:"label"`
		Address     string       `json:"address"`
		Group       string       `json:"group"`
		MaxMeetings int          `json:"maxMeetings"`
		Cookies     string       `json:"cookies"`
	}
	if err := a.readRequest(w, r, "createAccount", &request); err != nil {
		return err
	}
	added, err := a.Jobs.AddAccount(r.Context(), signin.Account{
		ConsumerID: caller.ConsumerID, Platform: request.Platform, Label: request.Label, Address: request.Address, Group: request.Group,
		MaxMeetings: request.MaxMeetings,
	}, signin.State{Cookies: []byte(request.Cookies)})
	return a.respond(w, http.StatusCreated, newAccountBody(added, caller.ConsumerID), err)
}

func (a *API) getAccount(w http.ResponseWriter, r *http.Request, caller account.Caller, id uuid.UUID) error {
	found, err := a.Jobs.Account(r.Context(), caller.ConsumerID, id)
	return a.respond(w, http.StatusOK, newAccountBody(found, caller.ConsumerID), err)
}

func (a *API) patchAccount(w http.ResponseWriter, r *http.Request, caller account.Caller, id uuid.UUID) error {
	var request struct {
		Label       *string             `json:"label"`
		Address     nullableText        `json:"address"`
		Group       nullableText        `json:"group"`
		MaxMeetings *int                `json:"maxMeetings"`
		RestsUntil  nullable[time.Time] `json:"restsUntil"`
		Cookies     *string             `json:"cookies"`
	}
	if err := a.readRequest(w, r, "patchAccount", &request); err != nil {
		return err
	}
	patch := lifecycle.AccountPatch{
		Label: request.Label, Address: request.Address.value, Group: request.Group.value, MaxMeetings: request.MaxMeetings,
		RestsUntil: request.RestsUntil.value,
	}
	if request.Cookies != nil {
		patch.State = &signin.State{Cookies: []byte(*request.Cookies)}
	}
	changed, err := a.Jobs.ChangeAccount(r.Context(), caller.ConsumerID, id, patch)
	return a.respond(w, http.StatusOK, newAccountBody(changed, caller.ConsumerID), err)
}

func (a *API) deleteAccount(w http.ResponseWriter, r *http.Request, caller account.Caller, id uuid.UUID) error {
	return noContent(w, a.Jobs.DeleteAccount(r.Context(), caller.ConsumerID, id))
}

// borrowAccount lends an account to a bot.
func (a *API) borrowAccount(w http.ResponseWriter, r *http.Request) error {
	var request ingest.AccountRequest
	bot, err := a.readBotMessage(w, r, "borrowAccount", &request)
	if err != nil {
		return err
	}
	response, err := a.Jobs.LendAccount(r.Context(), bot, request.Refusal)
	return a.respond(w, http.StatusOK, response, err)
}

// returnAccount takes an account back from a bot.
func (a *API) returnAccount(w http.ResponseWriter, r *http.Request) error {
	bot, err := a.botInPath(r, nil)
	if err != nil {
		return err
	}
	body, done, err := a.readBody(w, r, signin.MaxStateBytes)
	if err != nil {
		return err
	}
	defer done()
	var state signin.State
	if err := json.Unmarshal(body, &state); err != nil {
		return invalid(issue("type", "must be an object with cookies and profile in base64"))
	}
	if err := a.Jobs.ReturnAccount(r.Context(), bot, state); err != nil {
		return fmt.Errorf("take back an account: %w", err)
	}
	a.writeJSON(w, http.StatusOK, okBody{true})
	return nil
}
