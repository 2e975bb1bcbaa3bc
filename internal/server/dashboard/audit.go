package dashboard

import (
	"cmp"
	"net/http"
	"strings"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/jobs/lifecycle"
)

// unaudited are the forms that change nothing for the team, by their pattern, with the reason.
var unaudited = map[string]string{
	"POST /calendars/consent":        "it only leads to the provider",
	"POST /calendars/{id}/sync":      "it reads what the calendar says",
	"POST /webhooks/test":            "it sends an example",
	"POST /jobs/bulk":                "the history of each job has it",
	"POST /operator/mail/{id}/retry": "it is about no team",
	"POST /operator/alerts/test":     "it is about no team",
}

// auditActions are what users do with a form, by its pattern, in words for the audit log. A form
// that is neither here nor in unaudited is recorded by its pattern.
var auditActions = map[string]string{
	"POST /jobs":             "sent a bot",
	"POST /jobs/{id}/{verb}": "", // the verb
	"POST /jobs/{id}/deliveries/{delivery}/redeliver": "sent a webhook again",
	"POST /jobs/{id}/share":                           "shared a recording",
	"POST /jobs/{id}/share/revoke":                    "revoked a link to a recording",
	"POST /calendars":                                 "connected a calendar",
	"POST /calendars/{id}":                            "changed a calendar",
	"POST /calendars/{id}/disconnect":                 "disconnected a calendar",
	"POST /calendars/{id}/choices":                    "chose another calendar of the account",
	"POST /calendars/{id}/events/{event}":             "changed whether a meeting is recorded",
	"GET /calendars/callback":                         "connected a calendar",
	"POST /webhooks/endpoints":                        "added a webhook endpoint",
	"POST /webhooks/endpoints/{id}":                   "changed a webhook endpoint",
	"POST /webhooks/endpoints/{id}/{verb}":            "", // the verb
	"POST /webhooks/deliveries/{delivery}/replay":     "sent a webhook again",
	"POST /accounts":                                  "added an account",
	"POST /zoom-apps":                                 "added an app of Zoom",
	"POST /zoom-apps/{id}/remove":                     "removed an app of Zoom",
	"POST /accounts/{id}/{verb}":                      "", // the verb
	"POST /keys":                                      "created an API key",
	"POST /keys/{id}/revoke":                          "revoked an API key",
	"POST /cli":                                       "authorized a command line",
	"POST /docs/key":                                  "created a key of the API reference",
	"POST /webhooks/endpoint":                         "changed the default endpoint",
	"POST /webhooks/secret":                           "revealed the webhook secret",
	"POST /webhooks/rotate":                           "rotated the webhook secret",
	"POST /team/invite":                               "invited a user",
	"POST /team/withdraw":                             "withdrew an invitation",
	"POST /team/{id}/remove":                          "removed a user",
	"POST /team/{id}/role":                            "changed the role of a user",
	"POST /account/password":                          "changed the own password",
	"POST /signout":                                   "signed out",
}

// audit adds what a user has done to the audit log of the team.
func (d *Dashboard) audit(req *pageRequest) {
	pattern := req.Pattern
	action, changes := auditActions[pattern]
	if _, excepted := unaudited[pattern]; excepted || req.Status() >= http.StatusBadRequest || !changes && isRead(req.Method) {
		return
	}
	if verb := req.PathValue("verb"); action == "" && verb != "" {
		kind, _, _ := strings.Cut(strings.TrimPrefix(pattern, "POST /"), "s/") // job or webhook
		action = kind + ": " + verb
	}
	action = cmp.Or(action, pattern)
	target := cmp.Or(req.PathValue("id"), req.PathValue("delivery"))
	for _, field := range []string{"email", "name", "url", "meetingUrl"} {
		if target == "" {
			target = req.PostForm.Get(field)
		}
	}
	d.record(req, req.User, action, target)
}

// record adds an entry to the audit log of a user's team.
func (d *Dashboard) record(req *pageRequest, user account.User, action, target string) {
	entry := account.NewAuditEntry(user.ConsumerID, user.Email, action, target, d.Now())
	if err := d.Jobs.Store.AppendAudit(req.Context(), entry); err != nil {
		d.Log.Error("cannot write to the audit log", "action", action, "request_id", req.ID, "error", err)
	}
}

// auditView is the data of the page of the audit log.
type auditView struct {
	Entries []account.AuditEntry
	More    string // URL of the next page; empty on the last
}

// auditPage shows the audit log of the team.
func (d *Dashboard) auditPage(req *pageRequest) error {
	const shown = 100
	before, err := uuid.Parse(req.URL.Query().Get("before"))
	if err != nil {
		before = uuid.Nil
	}
	entries, err := d.Jobs.Store.AuditLog(req.Context(), req.User.ConsumerID, before, shown+1)
	var view auditView
	var more bool
	if view.Entries, more = lifecycle.Cut(entries, shown); more {
		view.More = "/team/audit?before=" + entries[shown-1].ID.String()
	}
	return req.showAfter(err, "audit", "Audit log", view)
}
