package httpapi

import (
	"cmp"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/httpmw"
	"standin/internal/job"
)

// auditActions are what keys do, by the pattern of the operation, for the audit log. The jobs of a
// team are not in it: they have their own history.
var auditActions = map[string]string{
	"POST /api/v1/keys":                  "created an API key",
	"DELETE /api/v1/keys/{id}":           "revoked an API key",
	"POST /api/v1/webhook-secret/rotate": "rotated the webhook secret",
	"DELETE /api/v1/jobs/{id}/recording": "deleted a recording",
	"POST /api/v1/calendars":             "connected a calendar",
	"DELETE /api/v1/calendars/{id}":      "disconnected a calendar",
}

// audit adds what a key has done to the audit log of the team.
func (a *API) audit(r *http.Request, caller account.Caller) {
	action, known := auditActions[r.Pattern]
	if !known {
		return
	}
	entry := account.NewAuditEntry(caller.ConsumerID, caller.Actor(), action, r.PathValue("id"), time.Now())
	if err := a.settings.Audit.AppendAudit(r.Context(), entry); err != nil {
		a.settings.Log.Error("cannot write to the audit log", "action", action, "request_id", httpmw.RecordOf(r).ID, "error", err)
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
	const defaultEntries = 50
	limit := cmp.Or(page.Limit, defaultEntries)
	entries, err := a.settings.Audit.AuditLog(r.Context(), caller.ConsumerID, before, limit+1)
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
