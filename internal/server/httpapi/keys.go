package httpapi

import (
	"cmp"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"standin/client"
	"standin/internal/account"
	"standin/internal/jobs/job"
	"standin/internal/jobs/lifecycle"
)

// getMe tells a caller whose key it has.
func (a *API) getMe(r *apiRequest) error {
	token, _ := r.bearer()
	key, err := a.Keys.Find(r.Context(), token) // an error if it was revoked just now
	var me client.Me
	me.Team.ID, me.Team.Name, me.Service.Version = key.ConsumerID.String(), key.Consumer, a.Version
	me.Key.ID, me.Key.Name, me.Key.Mode, me.Key.Scope = key.ID.String(), key.Name, string(key.Mode), string(key.Scope)
	me.Key.CreatedAt, me.Key.ExpiresAt = key.CreatedAt, timeOrNull(key.ExpiresAt)
	return r.respond(me, err)
}

func newKeyBody(key account.Key) client.Key {
	return client.Key{
		ID: key.ID.String(), Name: key.Name, Mode: string(key.Mode), Scope: string(key.Scope), Prefix: key.Prefix, CreatedAt: key.CreatedAt,
		CreatedBy: key.CreatedBy, LastUsedAt: timeOrNull(key.LastUsedAt), ExpiresAt: timeOrNull(key.ExpiresAt),
	}
}

func (a *API) listKeys(r *apiRequest, in pageQuery) error {
	keys, err := a.Keys.Of(r.Context(), r.caller)
	return respondPart(r, in, lifecycle.KeyList, "keys", keys, func(key account.Key) (int64, uuid.UUID) {
		return -key.CreatedAt.UnixMilli(), key.ID
	}, newKeyBody, err)
}

func (a *API) createKey(r *apiRequest) error {
	var request struct {
		Name      string        `json:"name"`
		Mode      job.Mode      `json:"mode"`
		Scope     account.Scope `json:"scope"`
		ExpiresAt time.Time     `json:"expiresAt"`
	}
	request.Mode = r.caller.Mode
	if err := r.read(&request); err != nil {
		return err
	}
	key, secret, err := a.Keys.Create(r.Context(), r.caller, request.Mode, account.KeyOptions{
		Name: request.Name, Scope: request.Scope, ExpiresAt: request.ExpiresAt,
	})
	body := newKeyBody(key)
	body.Secret = secret
	return r.respondStatus(http.StatusCreated, body, err)
}

func (a *API) revokeKey(r *apiRequest) error {
	err := a.Keys.Revoke(r.Context(), r.caller, r.id)
	if err == nil {
		a.Revocations.Announce()
	}
	return r.noContent(err)
}

// auditActions are what keys do, by the pattern of the operation, in words for the audit log. An
// operation that changes something and is neither here nor excepted is recorded by its pattern.
var auditActions = map[string]string{
	"POST /api/v1/keys":                                        "created an API key",
	"DELETE /api/v1/keys/{id}":                                 "revoked an API key",
	"POST /api/v1/accounts":                                    "added an account",
	"PATCH /api/v1/accounts/{id}":                              "changed an account",
	"DELETE /api/v1/accounts/{id}":                             "removed an account",
	"POST /api/v1/webhook-secret/rotate":                       "rotated the webhook secret",
	"POST /api/v1/webhook-endpoints":                           "added a webhook endpoint",
	"PATCH /api/v1/webhook-endpoints/{id}":                     "changed a webhook endpoint",
	"DELETE /api/v1/webhook-endpoints/{id}":                    "deleted a webhook endpoint",
	"POST /api/v1/webhook-endpoints/{id}/retry":                "retried a webhook endpoint",
	"POST /api/v1/deliveries/redeliver":                        "sent webhooks again",
	"POST /api/v1/deliveries/{deliveryId}/redeliver":           "sent a webhook again",
	"POST /api/v1/jobs/{id}/deliveries/{deliveryId}/redeliver": "sent a webhook again",
	"DELETE /api/v1/jobs/{id}/recording":                       "deleted a recording",
	"POST /api/v1/calendars":                                   "connected a calendar",
	"PATCH /api/v1/calendars/{id}":                             "changed a calendar",
	"PATCH /api/v1/calendars/{id}/events/{eventId}":            "changed whether a meeting is recorded",
	"DELETE /api/v1/calendars/{id}":                            "disconnected a calendar",
}

// unaudited reports whether an operation leaves no entry: reads, examples, and what the history
// of a job has, with the name of the key.
func unaudited(pattern string) bool {
	method, path, _ := strings.Cut(pattern, " ")
	switch {
	case method == http.MethodGet, method == http.MethodHead:
		return true
	case pattern == "POST /mcp", pattern == "POST /api/v1/jobs", strings.HasPrefix(path, "/api/v1/jobs/"):
		return auditActions[pattern] == ""
	}
	return pattern == "POST /api/v1/webhook-endpoints/{id}/test" || pattern == "POST /api/v1/calendars/{id}/sync"
}

// audit adds what a key has done to the audit log of the team.
func (a *API) audit(r *apiRequest) {
	if unaudited(r.Pattern) {
		return
	}
	action := cmp.Or(auditActions[r.Pattern], r.Pattern)
	created := r.Header().Get("Location")
	target := cmp.Or(r.PathValue("id"), r.PathValue("deliveryId"), created[strings.LastIndex(created, "/")+1:])
	entry := account.NewAuditEntry(r.caller.ConsumerID, r.caller.Actor(), action, target, time.Now())
	if err := a.Jobs.Store.AppendAudit(r.Context(), entry); err != nil {
		a.Log.Error("cannot write to the audit log", "action", action, "request_id", r.ID, "error", err)
	}
}

// auditBody is the AuditEntry schema of api/openapi.yaml.
type auditBody struct {
	ID     uuid.UUID     `json:"id"`
	At     job.Timestamp `json:"at"`
	Actor  string        `json:"actor"`
	Action string        `json:"action"`
	Target string        `json:"target"`
}

func (a *API) listAuditLog(r *apiRequest, in pageQuery) error {
	before := uuid.Nil
	if in.Cursor != "" {
		var ok bool
		if before, ok = parseID(in.Cursor); !ok {
			return invalid(issue("format", "is not a cursor of this list", "cursor"))
		}
	}
	limit := cmp.Or(in.Limit, lifecycle.DefaultPage)
	entries, err := a.Jobs.Store.AuditLog(r.Context(), r.caller.ConsumerID, before, limit+1)
	next := ""
	entries, more := lifecycle.Cut(entries, limit)
	if more {
		next = entries[limit-1].ID.String()
	}
	return respondPage(r, "entries", entries, func(e account.AuditEntry) auditBody {
		return auditBody{e.ID, job.Timestamp(e.At), e.Actor, e.Action, e.Target}
	}, next, err)
}
