package service_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/api"
)

// contractBots tests the order of the checks in ingestEvent, ingestTexts and
// heartbeat of api/openapi.yaml.
func contractBots(t *testing.T, h *contractHarness) {
	id := h.create(t, h.ada, contractJob(contractFuture))
	nobody := uuid.NewString()
	good := contractToken(id, 0)
	identity := `"jobId":"` + id + `","attempt":0`
	event := `{` + identity + contractTexts("m-1", "Hello") + `,"kind":"lifecycle.joined","emittedAt":"2026-11-20T13:00:00Z"}`
	for _, op := range []string{"ingestEvent", "ingestTexts", "heartbeat"} {
		for name, row := range map[string]struct {
			status       int
			bearer, body string
		}{
			"no bearer before unreadable JSON":              {401, "", `{`},
			"unreadable JSON before the token":              {400, "x", `{`},
			"a body that is not an object before the token": {400, "x", `[]`},
			"a missing jobId before the token":              {400, "x", `{"attempt":0}`},
			"a malformed jobId before the token":            {400, "x", `{"jobId":"x","attempt":0}`},
			"a missing attempt before the token":            {400, "x", `{"jobId":"` + id + `"}`},
			"a malformed attempt before the token":          {400, "x", `{"jobId":"` + id + `","attempt":-1}`},
			"a wrong token before other fields":             {401, "x", `{` + identity + `,"kind":1,"acked":1,"texts":1}`},
			"another attempt's token":                       {401, contractToken(id, 1), event},
			"another job's token":                           {401, contractToken(nobody, 0), event},
			"a consumer's key":                              {401, h.ada, event},
			"other fields":                                  {400, good, `{` + identity + `,"kind":1,"acked":1,"texts":1}`},
			"a valid token of an unknown job":               {400, contractToken(nobody, 0), strings.ReplaceAll(event, id, nobody)},
		} {
			reply := h.call(t, row.status, row.bearer, op, row.body)
			if name == "a valid token of a job that is not there" && !reply.has(`"path":["jobId"]`) {
				t.Errorf("%s, %s: %s", op, name, reply.body)
			}
		}
	}
	for _, row := range []struct{ body, applied, reason, status string }{
		{event, "true", "<nil>", "joining"},
		{event, "false", "duplicate", "joining"},
		{`{` + identity + `,"kind":"lifecycle.in_meeting","emittedAt":"2026-11-20T13:00:02Z","data":{"whatever":1}}`, "true", "<nil>", "in_meeting"},
		{`{` + identity + `,"kind":"lifecycle.entering_lobby","emittedAt":"2026-11-20T13:00:01Z"}`, "false", "out_of_order", "in_meeting"},
		{`{` + identity + `,"kind":"lifecycle.exited","emittedAt":"2026-11-20T13:00:03Z","data":{"failureCode":"removed_from_meeting"}}`, "true", "<nil>", "failed"},
		{`{` + identity + `,"kind":"lifecycle.in_meeting","emittedAt":"2026-11-20T13:00:04Z"}`, "false", "terminal", "failed"},
	} {
		reply := h.call(t, 200, good, "ingestEvent", row.body)
		got := fmt.Sprintf("%v %v %v", reply.field(t, "applied"), reply.field(t, "reason"), reply.field(t, "status"))
		if want := row.applied + " " + row.reason + " " + row.status; got != want || reply.field(t, "ok") != true {
			t.Errorf("%s\n got %s\nwant %s", row.body, got, want)
		}
	}
	h.call(t, 400, good, "heartbeat?wait=long", `{`+identity+`}`)
}

// contractTexts returns the member texts of a request, with one text.
func contractTexts(id, text string) string {
	return `,"texts":[{"id":"` + id + `","kind":"chat","author":"Ada","text":"` + text +
		`","startedAt":"2026-11-20T13:00:00Z","endedAt":"2026-11-20T13:00:00Z"}]`
}

// contractIngestTexts tests what ingestTexts stores.
func contractIngestTexts(t *testing.T, h *contractHarness) {
	id := h.create(t, h.ada, contractJob(contractFuture))
	identity := `{"jobId":"` + id + `","attempt":0`
	for _, row := range []struct {
		body   string
		stored string
	}{
		{identity + contractTexts("m-1", "Hello") + `}`, "1"},
		{identity + contractTexts("m-1", "Hello") + `}`, "0"},
		{identity + contractTexts("m-1", "Hello, Bob") + `}`, "1"},
		{identity + contractTexts("m-1", strings.Repeat("x", 10_001)) + `}`, "1"}, // is cut
		{identity + contractTexts("m-1", strings.Repeat("x", 10_000)) + `}`, "0"},
	} {
		reply := h.call(t, 200, contractToken(id, 0), "ingestTexts", row.body)
		if got := fmt.Sprint(reply.field(t, "stored")); got != row.stored {
			t.Errorf("%s\nstored %s, want %s", row.body, got, row.stored)
		}
	}
	for _, invalid := range []string{`,"texts":[]`, contractTexts("not an ID", "Hello"),
		`,"texts":[` + strings.TrimSuffix(strings.Repeat(`{},`, 101), ",") + `]`} {
		h.call(t, 400, contractToken(id, 0), "ingestTexts", identity+invalid+`}`)
	}
}

// contractUploads tests uploadMedia of api/openapi.yaml.
func contractUploads(t *testing.T, h *contractHarness) {
	id := h.create(t, h.ada, contractJob(contractFuture))
	at := func(attempt, name string) []string { return []string{id, attempt, name} }
	put := func(status int, in []string, bearer, body string, header map[string]string) {
		t.Helper()
		h.expect(t, status, contractRequest{op: "uploadMedia", in: in, bearer: bearer, body: body, header: header})
	}
	segment, good := at("0", "recording-000-000000.mp4s"), contractToken(id, 0)
	put(200, segment, good, "media", contractSum("media"))
	put(200, segment, good, "media", contractSum("media"))
	put(409, segment, good, "other", contractSum("other"))
	put(401, []string{"x", "y", "Z"}, "", "", nil)
	put(400, []string{"x", "y", "Z"}, "x", "", nil)
	put(401, at("0", "Z"), "x", "", nil)
	put(400, at("0", "Z"), good, "", nil)
	put(400, at("0", "recording-000-000001.mp4s"), good, "media", contractSum("other"))
	put(400, []string{uuid.Nil.String(), "0", "a.mp4"}, contractToken(uuid.Nil.String(), 0), "media", contractSum("media"))
	reply := h.raw(t, "uploadMedia", segment, good, "Expect: 100-continue\r\nContent-Length: 99999999999\r\nx-content-sha256: "+
		strings.Repeat("0", 64)+"\r\n", "")
	if reply.status != 413 {
		t.Errorf("an upload of 100 GB got %d", reply.status)
	}
}

// contractSigning tests signUpload of api/openapi.yaml with a folder, to which only the service writes.
func contractSigning(t *testing.T, h *contractHarness) {
	id := h.create(t, h.ada, contractJob(contractFuture))
	body := func(bytes string) string {
		return `{"jobId":"` + id + `","attempt":0,"name":"a.mp4","bytes":` + bytes + `,"sha256":"` + strings.Repeat("0", 64) + `"}`
	}
	if reply := h.call(t, 200, contractToken(id, 0), "signUpload", body("7")); strings.TrimSpace(string(reply.body)) != "{}" {
		t.Errorf("an upload to a folder is signed: %s", reply.body)
	}
	h.call(t, 413, contractToken(id, 0), "signUpload", body("99999999999"))
	h.call(t, 401, contractToken(id, 1), "signUpload", body("7"))
	h.call(t, 400, contractToken(id, 0), "signUpload", body("-1"))
	id = h.create(t, h.ada, contractJob(""))
	h.sendEvent(t, id, "lifecycle.recording_started", "")
	h.sendEvent(t, id, "lifecycle.exited", `{"failureCode":"internal_error"}`)
	h.awaitStatus(t, h.ada, id, "failed")
	h.call(t, 204, h.ada, "deleteRecording", "", id)
	h.call(t, 409, contractToken(id, 0), "signUpload", body("7"))
}

// contractCalendar tests intakeInvite of api/openapi.yaml.
func contractCalendar(t *testing.T, h *contractHarness) {
	invite := func(uid, joinAt string) string {
		return `{"organizerEmail":"Ada@Example.com","meetingUrl":"https://meet.google.com/abc","platform":"meet","joinAt":"` + joinAt +
			`","icalUid":` + uid + `}`
	}
	made := h.invite(t, 201, invite(`"u-1"`, "2999-05-01T10:00:00Z"))
	again := h.invite(t, 200, invite(`"u-1"`, "2999-05-01T12:00:00+02:00"))
	moved := h.invite(t, 200, invite(`"u-1"`, "2999-05-02T10:00:00Z"))
	h.invite(t, 201, invite(`null`, "2999-06-01T10:00:00Z"))
	if warning := made.header.Get("X-Standin-Warning"); !strings.Contains(warning, "no meeting code") {
		t.Errorf("warning %q about a link that leads to no meeting", warning)
	}
	h.invite(t, 201, invite(`"u-2"`, "0001-01-01T00:00:00.0001Z"))
	id := made.text(t, "jobId")
	if again.text(t, "jobId") != id || moved.text(t, "jobId") != id || made.text(t, "kind") != "scheduled" ||
		moved.text(t, "kind") != "deduped" {
		t.Errorf("got %s, %s, %s", made.body, again.body, moved.body)
	}
	seen := h.call(t, 200, h.ada, "getJob", "", id) // belongs to ada, by e-mail
	if seen.text(t, "joinAt") != "2999-05-02T10:00:00.000Z" || !seen.has("(no subject)") {
		t.Errorf("job of the invite: %s", seen.body)
	}
	cancelled := strings.Replace(invite(`"u-1"`, "2999-05-02T10:00:00Z"), "{", `{"cancelled":true,`, 1)
	for range 2 { // repeating it changes nothing
		if got := h.invite(t, 200, cancelled); got.text(t, "jobId") != id || got.text(t, "kind") != "deduped" {
			t.Errorf("cancelled: %s", got.body)
		}
	}
	if seen := h.call(t, 200, h.ada, "getJob", "", id); seen.text(t, "status") != "cancelled" {
		t.Errorf("job of the cancelled invite: %s", seen.body)
	}
	h.invite(t, 404, strings.Replace(cancelled, "u-1", "u-3", 1))
	h.invite(t, 400, `{"organizerEmail":"nobody","platform":"zoom-sdk","subject":null}`)
	for _, wrong := range []map[string]string{
		nil, {"x-service-intake-secret": ""}, {"x-service-intake-secret": contractAdminSecret},
		{"x-service-admin-secret": contractIntakeSecret},
	} {
		h.expect(t, 401, contractRequest{op: "intakeInvite", header: wrong, body: `{`})
	}
	h.call(t, 401, contractIntakeSecret, "intakeInvite", `{`)
}

// contractLogin tests the device flow.
func contractLogin(t *testing.T, h *contractHarness) {
	flow := h.call(t, 201, "", "initLogin", "")
	nonce := flow.text(t, "nonce")
	if flow.text(t, "verifyUrl") != h.BaseURL()+"/cli?nonce="+nonce {
		t.Errorf("flow %s", flow.body)
	}
	if expires, err := time.Parse(time.RFC3339, flow.text(t, "expiresAt")); err != nil || time.Until(expires) > 10*time.Minute ||
		time.Until(expires) < 9*time.Minute {
		t.Errorf("the flow expires at %s", flow.text(t, "expiresAt"))
	}
	poll := func(status int, nonce, want string) {
		t.Helper()
		if reply := h.call(t, status, "", "pollLogin", "", nonce); strings.TrimSpace(string(reply.body)) != want {
			t.Errorf("polling returned %s, want %s", reply.body, want)
		}
	}
	complete := func(status int, body string) {
		t.Helper()
		h.call(t, status, "", "completeLogin", body)
	}
	poll(200, nonce, `{"status":"pending"}`)
	complete(400, `{"nonce":"`+nonce+`","apiKey":"","email":"ada"}`)
	complete(400, `{"apiKey":"k"}`)
	complete(410, `{"nonce":"unknown","apiKey":"k"}`)
	complete(410, `{"nonce":"","apiKey":"k"}`)
	complete(200, `{"nonce":"`+nonce+`","apiKey":"any key","email":"ada@example.com"}`)
	complete(200, `{"nonce":"`+nonce+`","apiKey":"any key"}`)
	complete(410, `{"nonce":"`+nonce+`","apiKey":"another key"}`)
	for range 2 {
		poll(200, nonce, `{"status":"complete","apiKey":"any key","email":"ada@example.com"}`)
	}
	poll(410, strings.Repeat("x", len(nonce)), `{"status":"expired"}`)
	poll(410, "x", `{"status":"expired"}`)

	other := h.call(t, 201, "", "initLogin", "").text(t, "nonce")
	complete(200, `{"nonce":"`+other+`","apiKey":"k"}`)
	poll(200, other, `{"status":"complete","apiKey":"k"}`)
}

// contractOperator tests hostMetrics of api/openapi.yaml.
func contractOperator(t *testing.T, h *contractHarness) {
	h.create(t, h.bob, contractJob(contractFuture))
	begun := h.create(t, h.bob, contractJob(contractFuture))
	h.sendEvent(t, begun, "lifecycle.joined", "")
	metrics := h.expect(t, 200, contractRequest{op: "hostMetrics", header: map[string]string{"x-service-admin-secret": contractAdminSecret}})
	bots := metrics.field(t, "bots").(map[string]any)
	if bots["running"].(float64) < 1 || bots["scheduled"].(float64) < 1 {
		t.Errorf("job counts %v", bots)
	}
	for _, wrong := range []map[string]string{
		nil, {"x-service-admin-secret": contractIntakeSecret}, {"x-service-intake-secret": contractAdminSecret},
	} {
		h.expect(t, 401, contractRequest{op: "hostMetrics", header: wrong, bearer: h.ada})
	}
}

// contractPayments tests the payment webhook of api/openapi.yaml.
func contractPayments(t *testing.T, h *contractHarness) {
	event := `{"id":"evt_1","type":"customer.subscription.created","created":` + fmt.Sprint(time.Now().Unix()) +
		`,"data":{"object":{"id":"sub_1","customer":"cus_1","status":"active","metadata":{"standin_consumer":"ada","plan":"team"}}}}`
	now := time.Now()
	for _, row := range []struct {
		name   string
		status int
		header map[string]string
		body   string
		answer string
	}{
		{"new", 200, contractSigned(contractPaymentSecret, event, now), event, `{"ok":true,"deduped":false}`},
		{"repeated event", 200, contractSigned(contractPaymentSecret, event, now), event, `{"ok":true,"deduped":true}`},
		{"unknown type", 200, contractSigned(contractPaymentSecret, `{}`, now), `{}`, `{"ok":true,"deduped":false}`},
		{"provider's header", 200, map[string]string{"Stripe-Signature": contractSigned(contractPaymentSecret, `{"id":"evt_2"}`,
			now)["Payment-Signature"]}, `{"id":"evt_2"}`, `{"ok":true,"deduped":false}`},
		{"no signature", 400, nil, event, ""},
	} {
		reply := h.expect(t, row.status, contractRequest{op: "receivePayment", header: row.header, body: row.body})
		if got := strings.TrimSpace(string(reply.body)); got != row.answer {
			t.Errorf("%s: %s, want %s", row.name, got, row.answer)
		}
	}
	consumer, err := h.Store().ConsumerByName(t.Context(), "ada")
	if err != nil {
		t.Fatal(err)
	}
	if plan, err := h.Store().ConsumerPlan(t.Context(), consumer.ID); err != nil || !plan.Active() || plan.Name != "team" {
		t.Errorf("plan %+v (%v)", plan, err)
	}
	settings := contractSettings(t)
	settings.PaymentWebhookSecret = ""
	settings.HTTP.SecurityContact = "mailto:security@example.com"
	without := openContractHarness(t, h.coverage, settings)
	without.expect(t, 503, contractRequest{op: "receivePayment", header: contractSigned("", event, now), body: event})
	without.call(t, 503, "", "receivePayment", "")
	if contact := without.call(t, 200, "", "securityText", ""); !contact.has("Contact: mailto:security@example.com\nExpires: 2") {
		t.Errorf("security.txt is %s", contact.body)
	}
}

// contractService tests health, describe and reference of api/openapi.yaml, and
// unknown paths and methods.
func contractService(t *testing.T, h *contractHarness) {
	health := h.call(t, 200, "", "health", "")
	if string(health.body) != "ok\n" || !strings.HasPrefix(health.header.Get("Content-Type"), "text/plain") {
		t.Errorf("health returned %q, %s", health.body, health.header.Get("Content-Type"))
	}
	h.call(t, 200, "", "readiness", "")
	asJSON, err := h.description.ServedAt(h.BaseURL())
	if err != nil {
		t.Fatal(err)
	}
	asYAML, err := api.YAML(asJSON)
	if err != nil {
		t.Fatal(err)
	}
	if described := h.call(t, 200, "", "describe", ""); string(described.body) != string(asJSON) {
		t.Error("describe returned another description")
	}
	if described := h.call(t, 200, "", "describeYAML", ""); string(described.body) != string(asYAML) {
		t.Error("describeYAML returned another description")
	}
	h.call(t, 404, "", "securityText", "")
	h.call(t, 200, "", "describeManifest", "")
	page := h.call(t, 200, "", "reference", "")
	if page.header.Get("Content-Type") != "text/html; charset=utf-8" ||
		!strings.Contains(page.header.Get("Content-Security-Policy"), "default-src 'none'") {
		t.Errorf("headers of the reference page: %v", page.header)
	}
}
