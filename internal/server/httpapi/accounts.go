package httpapi

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"standin/client"
	"standin/internal/account"
	"standin/internal/jobs/job"
	"standin/internal/jobs/lifecycle"
	"standin/internal/jobs/signin"
)

// newAccountBody returns an account as a team sees it, with its own jobs.
func newAccountBody(a signin.Account, consumer uuid.UUID) client.Account {
	condition, reason := a.Condition(time.Now())
	body := client.Account{
		ID: a.ID.String(), Owner: "team", Platform: string(a.Platform), Label: a.Label, Address: orNull(a.Address), Group: orNull(a.Group),
		MaxMeetings: a.MaxMeetings, Meetings: a.Meetings(), Condition: string(condition), Reason: orNull(reason),
		SAML: a.SAML, SignedInUntil: timeOrNull(a.SignedInUntil), RestsUntil: timeOrNull(a.RestsUntil),
		LastUsedAt: timeOrNull(a.LastUsedAt), CreatedAt: a.CreatedAt, Uses: []client.AccountUse{},
	}
	if a.ConsumerID == uuid.Nil {
		body.Owner = "operator"
	}
	for _, use := range a.LastUses(consumer) {
		body.Uses = append(body.Uses, client.AccountUse{
			JobID: use.JobID.String(), At: use.At, Active: use.Active, Reason: use.Reason, Status: string(use.Status),
			FailureCode: orNull(string(use.FailureCode)),
		})
	}
	return body
}

// accountTeam returns the team whose accounts a caller uses: with a test key none, because no bot signs in.
func accountTeam(caller account.Caller) uuid.UUID {
	if caller.Mode == job.Test {
		return uuid.Max
	}
	return caller.ConsumerID
}

func (a *API) listAccounts(r *apiRequest, in pageQuery) error {
	accounts, err := a.Jobs.Accounts(r.Context(), accountTeam(r.caller))
	return respondPart(r, in, lifecycle.AccountList, "accounts", accounts, func(found signin.Account) (int64, uuid.UUID) {
		return found.CreatedAt.UnixMilli(), found.ID
	}, func(found signin.Account) client.Account { return newAccountBody(found, r.caller.ConsumerID) }, err)
}

func (a *API) createAccount(r *apiRequest, in client.NewAccount) error {
	if r.caller.Mode == job.Test {
		return job.NewError(job.InvalidState, "test bots do not sign in; use a live key")
	}
	added, err := a.Jobs.AddAccount(r.Context(), signin.Account{
		ConsumerID: r.caller.ConsumerID, Platform: job.Platform(in.Platform), Label: in.Label, Address: in.Address, Group: in.Group,
		MaxMeetings: in.MaxMeetings, SAML: in.SAML,
	}, signin.State{Cookies: []byte(in.Cookies)})
	return r.respondCreated("accounts", added.ID, newAccountBody(added, r.caller.ConsumerID), err)
}

// identityProvider returns with what the accounts of the caller's team sign in by SAML.
func (a *API) identityProvider(r *apiRequest) error {
	return r.respond(a.Jobs.IdentityProvider(r.Context(), r.caller.ConsumerID))
}

func (a *API) getAccount(r *apiRequest) error {
	found, err := a.Jobs.Account(r.Context(), accountTeam(r.caller), r.id)
	return r.respond(newAccountBody(found, r.caller.ConsumerID), err)
}

// accountPatch is the AccountPatch schema of api/openapi.yaml.
type accountPatch struct {
	Label       *string             `json:"label"`
	Address     nullableText        `json:"address"`
	Group       nullableText        `json:"group"`
	MaxMeetings *int                `json:"maxMeetings"`
	RestsUntil  nullable[time.Time] `json:"restsUntil"`
	Cookies     *string             `json:"cookies"`
}

func (a *API) patchAccount(r *apiRequest, in accountPatch) error {
	var state *signin.State
	if in.Cookies != nil {
		state = &signin.State{Cookies: []byte(*in.Cookies)}
	}
	changed, err := a.Jobs.ChangeAccount(r.Context(), accountTeam(r.caller), r.id, state, func(a *signin.Account) {
		for _, field := range []struct{ own, value *string }{
			{&a.Label, in.Label}, {&a.Address, in.Address.value}, {&a.Group, in.Group.value},
		} {
			*field.own = *cmp.Or(field.value, field.own)
		}
		a.MaxMeetings = *cmp.Or(in.MaxMeetings, &a.MaxMeetings)
		if in.RestsUntil.value != nil {
			a.Rest(*in.RestsUntil.value, time.Now())
		}
	})
	return r.respond(newAccountBody(changed, r.caller.ConsumerID), err)
}

func (a *API) deleteAccount(ctx context.Context, caller account.Caller, id uuid.UUID) error {
	return a.Jobs.DeleteAccount(ctx, accountTeam(caller), id)
}

// returnAccount takes an account back from a bot.
func (a *API) returnAccount(r *apiRequest) error {
	bot, err := r.botInPath(nil)
	if err != nil {
		return err
	}
	body, done, err := r.readBody(signin.MaxStateBytes)
	if err != nil {
		return err
	}
	defer done()
	var state signin.State
	if err := json.Unmarshal(body, &state); err != nil {
		return invalid(issue("type", "must be an object with cookies and profile in base64"))
	}
	return r.respond(okBody{true}, a.Jobs.ReturnAccount(r.Context(), bot, state))
}
