package service_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"standin/internal/jobs/job"
	"standin/internal/jobs/signin"
)

// contractAccount returns a request for an account whose cookies end in an hour.
func contractAccount(label string) string {
	cookies := fmt.Sprintf(`[{"name":"SID","value":"secret","domain":".google.com","expirationDate":%d}]`, time.Now().Add(time.Hour).Unix())
	body, _ := json.Marshal(map[string]any{"platform": "meet", "label": label, "cookies": cookies}) // texts
	return string(body)
}

// contractAccounts tests the operations of accounts, with a bot that borrows one and returns it.
func contractAccounts(t *testing.T, h *contractHarness) {
	key, _ := h.newKey(t, "accounts", job.Live)
	created := h.call(t, 201, key, "createAccount", contractAccount("Recorder"))
	id := created.text(t, "id")
	if created.text(t, "condition") != "ready" || created.has("secret") || created.header.Get("Location") != "/api/v1/accounts/"+id {
		t.Errorf("created %s at %s", created.body, created.header.Get("Location"))
	}
	h.call(t, 409, key, "createAccount", contractAccount("recorder"))
	h.call(t, 409, h.adasTest, "createAccount", contractAccount("Test"))
	for _, invalid := range []string{
		`{"platform":"meet","label":"x","cookies":"[]"}`, `{"platform":"zoom-sdk","label":"x","cookies":"x"}`, `{"platform":"meet","label":"x"}`,
	} {
		h.call(t, 400, key, "createAccount", invalid)
	}
	h.call(t, 400, key, "patchAccount", `{"address":"nobody"}`, id)
	h.call(t, 404, key, "patchAccount", `{"group":"x"}`, "0192f5c8-6d1e-7a30-9a4f-3f1d2b6c7e91")
	if reply := h.call(t, 200, key, "patchAccount", `{"restsUntil":"2999-01-01T00:00:00Z"}`, id); reply.text(t, "condition") != "resting" {
		t.Errorf("resting: %s", reply.body)
	}
	jobID := h.create(t, key, contractJob(`,"signIn":"always","account":"RECORDER"`))
	h.sendEvent(t, jobID, "lifecycle.joined", "")
	message := `{"jobId":"` + jobID + `","attempt":0}`
	if reply := h.call(t, 200, contractToken(jobID, 0), "borrowAccount", message); reply.text(t, "account") != "" || !reply.has("rests until 00:00") {
		t.Errorf("a resting account: %s", reply.body)
	}
	h.call(t, 200, key, "patchAccount", `{"restsUntil":null,"address":"Recorder@example.com"}`, id)
	reply := h.call(t, 200, contractToken(jobID, 0), "borrowAccount", message)
	var lent struct{ State signin.State }
	if err := json.Unmarshal(reply.body, &lent); err != nil || reply.text(t, "account") != "Recorder" ||
		!strings.Contains(string(lent.State.Cookies), "secret") {
		t.Errorf("lent %s, %v", reply.body, err)
	}
	if reply := h.call(t, 200, key, "getAccount", "", id); reply.text(t, "condition") != "in_use" || !reply.has(jobID) ||
		!reply.has("recorder@example.com") || reply.has("secret") {
		t.Errorf("an account in use: %s", reply.body)
	}
	if reply := h.call(t, 200, key, "listTimeline", "", jobID); !reply.has(`"kind":"sign_in"`) || !reply.has(`"account":"Recorder"`) || reply.has("secret") {
		t.Errorf("the timeline: %s", reply.body)
	}
	give := contractRequest{op: "returnAccount", in: []string{jobID, "0"}, bearer: contractToken(jobID, 0), body: `{}`}
	h.expect(t, 200, give)
	give.body = "{"
	h.expect(t, 400, give)
	give.body = strings.Repeat("x", signin.MaxStateBytes+1)
	h.expect(t, 413, give)
	h.call(t, 401, contractToken(jobID, 1), "returnAccount", "{}", jobID, "0")
	if reply := h.call(t, 200, key, "listAccounts", ""); !reply.has(`"condition":"ready"`) {
		t.Errorf("a returned account: %s", reply.body)
	}
	if reply := h.call(t, 200, h.adasTest, "listAccounts", ""); !reply.has(`{"accounts":[],`) {
		t.Errorf("the accounts of a test key: %s", reply.body)
	}
	h.expect(t, 400, contractRequest{op: "listAccounts", query: "limit=x", bearer: key})
	h.call(t, 204, key, "cancelJob", "", jobID)
	h.call(t, 409, contractToken(jobID, 0), "borrowAccount", message)
	h.call(t, 204, key, "deleteAccount", "", id)
	h.call(t, 404, key, "deleteAccount", "", id)
	h.call(t, 404, key, "getAccount", "", id)
}
