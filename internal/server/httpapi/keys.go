package httpapi

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/jobs/job"
	"standin/internal/jobs/lifecycle"
	"standin/internal/server/httpmw"
)

// meBody is the response of the getMe operation.
type meBody struct {
	Consumer meConsumer `json:"consumer"`
	Key      meKey      `json:"key"`
	Service  meService  `json:"service"`
}

type meConsumer struct {
	ID   uuid.UUID `json:"id"`
	Name string    `json:"name"`
}

type meKey struct {
	ID        uuid.UUID      `json:"id"`
	Name      string         `json:"name"`
	Mode      job.Mode       `json:"mode"`
	Scope     account.Scope  `json:"scope"`
	CreatedAt job.Timestamp  `json:"createdAt"`
	ExpiresAt *job.Timestamp `json:"expiresAt"`
}

type meService struct {
	Version string `json:"version"`
}

// getMe tells a caller whose key it has.
func (a *API) getMe(w http.ResponseWriter, r *http.Request, _ account.Caller) error {
	token, _ := bearer(r)
	key, err := a.Keys.Find(r.Context(), token)
	if err != nil {
		return err // it was revoked just now
	}
	body := meBody{
		Consumer: meConsumer{key.ConsumerID, key.Consumer},
		Key:      meKey{key.ID, key.Name, key.Mode, key.Scope, job.Timestamp(key.CreatedAt), job.NullTimestamp(key.ExpiresAt)},
		Service:  meService{a.Version},
	}
	a.writeJSON(w, http.StatusOK, body)
	return nil
}

// keyBody is the Key schema of api/openapi.yaml.
type keyBody struct {
	ID         uuid.UUID      `json:"id"`
	Name       string         `json:"name"`
	Mode       job.Mode       `json:"mode"`
	Scope      account.Scope  `json:"scope"`
	Prefix     string         `json:"prefix"`
	CreatedAt  job.Timestamp  `json:"createdAt"`
	CreatedBy  string         `json:"createdBy"`
	LastUsedAt *job.Timestamp `json:"lastUsedAt"`
	ExpiresAt  *job.Timestamp `json:"expiresAt"`
	Secret     string         `json:"key,omitempty"` // only of a new key
}

func newKeyBody(key account.Key) keyBody {
	return keyBody{
		ID: key.ID, Name: key.Name, Mode: key.Mode, Scope: key.Scope, Prefix: key.Prefix, CreatedAt: job.Timestamp(key.CreatedAt),
		CreatedBy:  key.CreatedBy,
		LastUsedAt: job.NullTimestamp(key.LastUsedAt), ExpiresAt: job.NullTimestamp(key.ExpiresAt),
	}
}

func (a *API) listKeys(w http.ResponseWriter, r *http.Request, caller account.Caller) error {
	var query pageQuery
	if err := a.readQuery(w, r, "listKeys", &query); err != nil {
		return err
	}
	keys, err := a.Keys.Of(r.Context(), caller)
	if err != nil {
		return err
	}
	keys, next, err := lifecycle.PageOf(query.page(), lifecycle.KeyList, keys, func(key account.Key) (int64, uuid.UUID) {
		return -key.CreatedAt.UnixMilli(), key.ID
	})
	return a.respond(w, http.StatusOK, struct {
		Keys []keyBody `json:"keys"`
		Next *string   `json:"nextCursor"`
	}{bodiesOf(keys, newKeyBody), nullText(next)}, err)
}

func (a *API) createKey(w http.ResponseWriter, r *http.Request, caller account.Caller) error {
	var request struct {
		Name      string        `json:"name"`
		Mode      job.Mode      `json:"mode"`
		Scope     account.Scope `json:"scope"`
		ExpiresAt *time.Time    `json:"expiresAt"`
	}
	request.Mode = caller.Mode
	if err := a.readRequest(w, r, "createKey", &request); err != nil {
		return err
	}
	options := account.KeyOptions{Name: request.Name, Scope: request.Scope}
	if request.ExpiresAt != nil {
		options.ExpiresAt = *request.ExpiresAt
	}
	key, secret, err := a.Keys.Create(r.Context(), caller, request.Mode, options)
	if err != nil {
		return fmt.Errorf("create a key: %w", err)
	}
	body := newKeyBody(key)
	body.Secret = secret
	a.writeJSON(w, http.StatusCreated, body)
	return nil
}

func (a *API) revokeKey(w http.ResponseWriter, r *http.Request, caller account.Caller, id uuid.UUID) error {
	if err := a.Keys.Revoke(r.Context(), caller, id); err != nil {
		return err
	}
	a.Revocations.Announce()
	w.WriteHeader(http.StatusNoContent)
	return nil
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
func (a *API) audit(w http.ResponseWriter, r *http.Request, caller account.Caller) {
	if unaudited(r.Pattern) {
		return
	}
	action := cmp.Or(auditActions[r.Pattern], r.Pattern)
	created := w.Header().Get("Location")
	target := cmp.Or(r.PathValue("id"), r.PathValue("deliveryId"), created[strings.LastIndex(created, "/")+1:])
	entry := account.NewAuditEntry(caller.ConsumerID, caller.Actor(), action, target, time.Now())
	if err := a.Audit.AppendAudit(r.Context(), entry); err != nil {
		a.Log.Error("cannot write to the audit log", "action", action, "request_id", httpmw.RecordOf(r).ID, "error", err)
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

func (a *API) listAuditLog(w http.ResponseWriter, r *http.Request, caller account.Caller) error {
	var query pageQuery
	if err := a.readQuery(w, r, "listAuditLog", &query); err != nil {
		return err
	}
	page := query.page()
	before := uuid.Nil
	if page.Cursor != "" {
		var ok bool
		if before, ok = parseID(page.Cursor); !ok {
			return invalid(issue("format", "is not a cursor of this list", "cursor"))
		}
	}
	limit := cmp.Or(page.Limit, lifecycle.DefaultPage)
	entries, err := a.Audit.AuditLog(r.Context(), caller.ConsumerID, before, limit+1)
	if err != nil {
		return fmt.Errorf("list the audit log: %w", err)
	}
	next := ""
	if len(entries) > limit {
		entries = entries[:limit]
		next = entries[limit-1].ID.String()
	}
	bodies := make([]auditBody, len(entries))
	for i, e := range entries {
		bodies[i] = auditBody{e.ID, job.Timestamp(e.At), e.Actor, e.Action, e.Target}
	}
	a.writeJSON(w, http.StatusOK, struct {
		Entries []auditBody `json:"entries"`
		Next    *string     `json:"nextCursor"`
	}{bodies, nullText(next)})
	return nil
}
