package service_test

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/crewjam/saml"

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
	contractSAML(t, h, key)
	h.call(t, 204, key, "deleteAccount", "", id)
	h.call(t, 404, key, "deleteAccount", "", id)
	h.call(t, 404, key, "getAccount", "", id)
}

// contractSAML signs a bot in by SAML: what the bot gets is checked as a service provider does, with what the identity
// provider of the team shows.
func contractSAML(t *testing.T, h *contractHarness, key string) {
	for _, invalid := range []string{
		`{"platform":"meet","label":"x","saml":true}`, `{"platform":"teams","label":"x","address":"a@example.com","saml":true}`,
	} {
		h.call(t, 400, key, "createAccount", invalid)
	}
	h.call(t, 201, key, "createAccount", `{"platform":"meet","label":"Domain","address":"bot@example.com","saml":true}`)
	shown := h.call(t, 200, key, "getIdentityProvider", "")
	if again := h.call(t, 200, key, "getIdentityProvider", ""); again.text(t, "certificate") != shown.text(t, "certificate") {
		t.Error("the identity provider has another certificate each time")
	}
	if other := h.call(t, 200, h.ada, "getIdentityProvider", ""); other.text(t, "certificate") == shown.text(t, "certificate") {
		t.Error("two teams have one certificate")
	}
	block, _ := pem.Decode([]byte(shown.text(t, "certificate")))
	google := func(origin string) *saml.ServiceProvider {
		address := func(text string) url.URL { parsed, _ := url.Parse(text); return *parsed } // valid
		return &saml.ServiceProvider{
			EntityID: "https://accounts.google.com/samlrp/1", AcsURL: address(origin + "/samlrp/acs"), AuthnNameIDFormat: saml.EmailAddressNameIDFormat,
			IDPMetadata: &saml.EntityDescriptor{EntityID: shown.text(t, "entityId"), IDPSSODescriptors: []saml.IDPSSODescriptor{{
				SSODescriptor: saml.SSODescriptor{RoleDescriptor: saml.RoleDescriptor{KeyDescriptors: []saml.KeyDescriptor{{Use: "signing",
					KeyInfo: saml.KeyInfo{X509Data: saml.X509Data{X509Certificates: []saml.X509Certificate{{Data: base64.StdEncoding.EncodeToString(block.Bytes)}}}},
				}}}},
				SingleSignOnServices: []saml.Endpoint{{Binding: saml.HTTPRedirectBinding, Location: shown.text(t, "signInUrl")}},
			}}},
		}
	}
	jobID := h.create(t, key, contractJob(`,"signIn":"always","account":"Domain"`))
	h.sendEvent(t, jobID, "lifecycle.joined", "")
	ask := func(query string) contractResponse {
		body, _ := json.Marshal(map[string]any{"jobId": jobID, "attempt": 0, "samlRequest": query}) // texts
		return h.call(t, 200, contractToken(jobID, 0), "borrowAccount", string(body))
	}
	if lent := ask(""); lent.text(t, "account") != "Domain" || lent.text(t, "signInUrl") != "https://accounts.google.com/samlredirect?domain=example.com" {
		t.Errorf("lent %s", lent.body)
	}
	provider := google("https://accounts.google.com")
	request, err := provider.MakeAuthenticationRequest(shown.text(t, "signInUrl"), saml.HTTPRedirectBinding, saml.HTTPPostBinding)
	if err != nil {
		t.Fatal(err)
	}
	asked, err := request.Redirect("<back&>", provider)
	if err != nil {
		t.Fatal(err)
	}
	page := ask(asked.RawQuery).text(t, "page")
	if !strings.Contains(page, `action="https://accounts.google.com/samlrp/acs"`) || !strings.Contains(page, "&lt;back&amp;&gt;") {
		t.Errorf("the page is %s", page)
	}
	_, answer, _ := strings.Cut(page, `name="SAMLResponse" value="`)
	answer, _, _ = strings.Cut(answer, `"`)
	answered := &http.Request{PostForm: url.Values{"SAMLResponse": {html.UnescapeString(answer)}}, URL: &provider.AcsURL}
	assertion, err := provider.ParseResponse(answered, []string{request.ID})
	if err != nil || assertion.Subject.NameID.Value != "bot@example.com" {
		t.Errorf("a service provider reads %+v, %v", assertion, errors.Unwrap(err))
	}
	elsewhere := google("https://evil.example")
	request, _ = elsewhere.MakeAuthenticationRequest(shown.text(t, "signInUrl"), saml.HTTPRedirectBinding, saml.HTTPPostBinding) // as above
	asked, _ = request.Redirect("", elsewhere)
	for _, query := range []string{asked.RawQuery, "SAMLRequest=!", "SAMLRequest=" + url.QueryEscape(base64.StdEncoding.EncodeToString([]byte("x")))} {
		body, _ := json.Marshal(map[string]any{"jobId": jobID, "attempt": 0, "samlRequest": query}) // texts
		h.call(t, 400, contractToken(jobID, 0), "borrowAccount", string(body))
	}
}
