package service_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"standin/internal/account"
	"standin/internal/jobs/job"
	"standin/internal/testing/await"
)

// contractManageKeys tests listKeys, createKey and revokeKey.
func contractManageKeys(t *testing.T, h *contractHarness, scoped func(account.Scope, time.Time) (account.Key, string)) {
	own, managing := scoped(account.AdminScope, time.Time{})
	_, sending := scoped(account.JobsScope, time.Time{})
	h.call(t, 403, sending, "listKeys", "")

	created := h.call(t, 201, managing, "createKey", `{"name":"Reports","scope":"read","expiresAt":"2999-01-01T00:00:00Z"}`)
	secret, id := created.text(t, "key"), created.text(t, "id")
	if created.text(t, "mode") != "test" || created.text(t, "scope") != "read" || created.text(t, "createdBy") != "key CI" ||
		!strings.HasPrefix(secret, created.text(t, "prefix")) {
		t.Errorf("created %s", created.body)
	}
	h.call(t, 200, secret, "listJobs", "")
	list := h.call(t, 200, managing, "listKeys", "")
	if text := string(list.body); !strings.Contains(text, id) || !strings.Contains(text, own.ID.String()) || strings.Contains(text, secret) {
		t.Errorf("listed %s", text)
	}
	live := h.call(t, 201, h.bob, "createKey", `{"name":"Live"}`)
	for _, other := range []string{"x", live.text(t, "id")} {
		h.call(t, 404, managing, "revokeKey", "", other)
	}
	h.call(t, 204, managing, "revokeKey", "", id)
	h.call(t, 401, secret, "listJobs", "")
	h.call(t, 404, managing, "revokeKey", "", id)

	h.call(t, 403, sending, "listAuditLog", "")
	h.call(t, 400, managing, "listAuditLog?cursor=x", "")
	first := h.call(t, 200, managing, "listAuditLog?limit=1", "")
	if text := string(first.body); !strings.Contains(text, `"actor":"key CI","action":"revoked an API key","target":"`+id) {
		t.Errorf("the audit log begins with %s", text)
	}
	second := h.call(t, 200, managing, "listAuditLog?cursor="+first.text(t, "nextCursor"), "")
	if text := string(second.body); !strings.Contains(text, "created an API key") || strings.Contains(text, "revoked") {
		t.Errorf("the audit log continues with %s", text)
	}

	h.call(t, 409, managing, "createKey", `{"name":"Live","mode":"live"}`)
	for _, invalid := range []string{`{}`, `{"name":""}`, `{"name":"x","scope":"root"}`, `{"name":"x","expiresAt":"2001-01-01T00:00:00Z"}`} {
		h.call(t, 400, managing, "createKey", invalid)
	}
}

// contractKeys tests getMe, and the scopes and the expiry of keys.
func contractKeys(t *testing.T, h *contractHarness) {
	scoped := func(scope account.Scope, expires time.Time) (account.Key, string) {
		t.Helper()
		key, secret, err := h.Keys.IssueWith(t.Context(), "keys", "", job.Test, account.KeyOptions{Name: "CI", Scope: scope, ExpiresAt: expires})
		if err != nil {
			t.Fatal(err)
		}
		return key, secret
	}
	_, reading := scoped(account.ReadScope, time.Time{})
	key, sending := scoped(account.JobsScope, time.Now().Add(time.Hour))
	me := h.call(t, 200, sending, "getMe", "")
	for _, want := range []string{
		`"name":"keys"`, `"id":"` + key.ID.String() + `"`, `"name":"CI"`, `"mode":"test"`, `"scope":"jobs"`, `"expiresAt":"2`,
	} {
		if !me.has(want) {
			t.Errorf("%s is not in %s", want, me.body)
		}
	}

	for _, operation := range h.description.Operations() {
		if operation.Security != "apiKey" || operation.Method == http.MethodGet || operation.Method == http.MethodHead {
			continue
		}
		h.call(t, 403, reading, operation.ID, "", h.to(operation, "x").in...)
	}
	h.call(t, 403, sending, "rotateWebhookSecret", "")
	h.call(t, 200, reading, "listJobs", "")
	h.create(t, sending, contractJob(contractFuture))

	contractManageKeys(t, h, scoped)

	_, short := scoped(account.AdminScope, time.Now().Add(time.Second))
	h.call(t, 200, short, "getMe", "")
	await.Until(t, "the key expires", func() bool {
		reply := h.do(t, contractRequest{op: "getMe", bearer: short})
		return reply.status == http.StatusUnauthorized && reply.has("expired")
	})
	for name, options := range map[string]account.KeyOptions{
		"a name of two lines": {Name: "a\nb"}, "a long name": {Name: strings.Repeat("x",
			101)}, "an unknown scope": {Scope: "root"}, "expired": {ExpiresAt: time.Now()},
	} {
		if _, _, err := h.Keys.IssueWith(t.Context(), "keys", "", job.Test, options); !job.ErrorIs(err, job.InvalidInput) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
