package service_test

import (
	"bytes"
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"standin/client"

	"github.com/google/uuid"

	"standin/api"
	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
	"standin/internal/jobs/webhook"
	"standin/internal/recording/transcript"
	"standin/internal/server/httpapi"
	"standin/internal/server/service"
	"standin/internal/testing/apicheck"
	"standin/internal/testing/await"
	"standin/internal/testing/storetest"
)

// Settings and timeout of the contract tests.
const (
	contractSigningKey    = "the ingest signing key"
	contractIntakeSecret  = "the intake secret"
	contractAdminSecret   = "the admin secret"
	contractPaymentSecret = "whsec_of_the_payment_provider"
	contractHookSecret    = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	contractTimeout       = 30 * time.Second
)

// contractHarness is the complete service in this process, with two consumers.
type contractHarness struct {
	*service.Service
	description *api.Description
	coverage    *contractCoverage
	checker     *apicheck.Checker
	client      *http.Client
	ada, bob    string // keys for live jobs
	adasTest    string // a key for jobs in the simulator
	adasKeyID   uuid.UUID
}

// contractCoverage records which statuses of which operations were returned.
type contractCoverage struct {
	mu   sync.Mutex
	seen map[string]bool // "operation status"
}

func newContractCoverage() *contractCoverage { return &contractCoverage{seen: map[string]bool{}} }

func (w *contractCoverage) note(operation string, status int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen[operation+" "+strconv.Itoa(status)] = true
}

// contractSettings returns the settings of a service that launches no live bots, on a
// free port.
func contractSettings(t *testing.T) service.Settings {
	t.Helper()
	return service.Settings{
		Listen: "127.0.0.1:0", DataSettings: service.DataSettings{
			DataDir: storetest.FreshDataDir(t),
		}, LauncherSettings: service.LauncherSettings{Launcher: "manual"},
		KeySettings:          service.KeySettings{IngestSigningKey: contractSigningKey},
		HTTP:                 httpapi.Options{IntakeSecret: contractIntakeSecret, AdminSecret: contractAdminSecret},
		PaymentWebhookSecret: contractPaymentSecret, EventSettings: service.EventSettings{WebhookSecret: contractHookSecret},
		Transcriber: transcript.Config{URL: "https://transcriber.invalid"},
		Log:         slog.New(slog.DiscardHandler),
	}
}

// openContractHarness starts the service and closes it when the test ends.
func openContractHarness(t testing.TB, coverage *contractCoverage, settings service.Settings) *contractHarness {
	t.Helper()
	description, err := api.Load()
	if err != nil {
		t.Fatal(err)
	}
	h := &contractHarness{
		description: description, checker: apicheck.New(t, description), coverage: coverage,
		client: &http.Client{
			Transport:     &http.Transport{MaxIdleConnsPerHost: 32},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
	if h.Service, err = service.Start(t.Context(), settings); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() }) // a test that checks the error closes it first
	t.Cleanup(h.client.CloseIdleConnections)
	h.ada, h.adasKeyID = h.newKey(t, "ada", job.Live)
	h.adasTest, _ = h.newKey(t, "ada", job.Test)
	h.bob, _ = h.newKey(t, "bob", job.Live)
	return h
}

// newKey creates a key of a consumer.
func (h *contractHarness) newKey(t testing.TB, consumer string, mode job.Mode) (string, uuid.UUID) {
	t.Helper()
	key, secret, err := h.Keys.Issue(t.Context(), consumer, consumer+"@example.com", mode)
	if err != nil {
		t.Fatal(err)
	}
	return secret, key.ID
}

// contractRequest is a request to an operation.
type contractRequest struct {
	op     string
	in     []string // values of the path's parameters
	query  string
	bearer string
	header map[string]string
	body   string
}

// contractResponse is the response to a contractRequest.
type contractResponse struct {
	status int
	header http.Header
	body   []byte
}

// operation returns an operation of the API description.
func (h *contractHarness) operation(t testing.TB, id string) api.Operation {
	t.Helper()
	operations := h.description.Operations()
	at := slices.IndexFunc(operations, func(o api.Operation) bool { return o.ID == id })
	if at < 0 {
		t.Fatalf("the API description has no operation %s", id)
	}
	return operations[at]
}

// to returns a request to an operation with valid credentials, for a job and its first bot, without a body.
func (h *contractHarness) to(operation api.Operation, id string) contractRequest {
	r := contractRequest{op: operation.ID, bearer: map[string]string{"apiKey": h.ada, "botToken": contractToken(id, 0)}[operation.Security]}
	r.header = map[string]map[string]string{
		"adminSecret": {"x-service-admin-secret": contractAdminSecret}, "intakeSecret": {"x-service-intake-secret": contractIntakeSecret},
		"paymentSignature": {"Payment-Signature": "t=1,v1=00"}, // of no body
	}[operation.Security]
	if operation.ID == "uploadMedia" {
		r.header = contractSum("")
	}
	values := map[string]string{"{attempt}": "0", "{name}": "recording-000-000000.mp4s", "{nonce}": strings.Repeat("x", 43)}
	for part := range strings.SplitSeq(operation.Path, "/") {
		if strings.HasPrefix(part, "{") {
			r.in = append(r.in, cmp.Or(values[part], id))
		}
	}
	return r
}

// contractPath replaces the parameters of an operation's path.
func contractPath(t testing.TB, operation api.Operation, in []string) string {
	t.Helper()
	var path strings.Builder
	rest := operation.Path
	for {
		before, after, found := strings.Cut(rest, "{")
		path.WriteString(before)
		if !found {
			break
		}
		_, rest, _ = strings.Cut(after, "}")
		if len(in) == 0 {
			t.Fatalf("%s needs more parameters", operation.Path)
		}
		path.WriteString(url.PathEscape(in[0]))
		in = in[1:]
	}
	if len(in) > 0 {
		t.Fatalf("%s needs fewer parameters", operation.Path)
	}
	return path.String()
}

// do sends a request, checks the response against the API description, and records
// its status.
func (h *contractHarness) do(t testing.TB, a contractRequest) contractResponse {
	t.Helper()
	operation := h.operation(t, a.op)
	address := h.BaseURL() + contractPath(t, operation, a.in)
	if a.query != "" {
		address += "?" + a.query
	}
	request, err := http.NewRequestWithContext(t.Context(), operation.Method, address, strings.NewReader(a.body))
	if err != nil {
		t.Fatal(err)
	}
	if a.bearer != "" {
		request.Header.Set("Authorization", "Bearer "+a.bearer)
	}
	for name, value := range a.header {
		request.Header.Set(name, value)
	}
	answer, err := h.client.Do(request)
	if err != nil {
		t.Fatalf("%s: %v", a.op, err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatalf("%s: read the response: %v", a.op, err)
	}
	reply := contractResponse{answer.StatusCode, answer.Header, body}
	h.check(t, operation, reply)
	return reply
}

// check checks a response against the API description.
func (h *contractHarness) check(t testing.TB, operation api.Operation, reply contractResponse) {
	t.Helper()
	h.coverage.note(operation.ID, reply.status)
	// which any operation may return
	documented := slices.Contains(operation.Statuses, strconv.Itoa(reply.status)) || reply.status != http.StatusServiceUnavailable
	if err := h.checker.Response(operation.Method, operation.Path, reply.status, reply.body); err != nil && documented {
		t.Errorf("%s %d does not match the API description: %v\n%.400s", operation.ID, reply.status, err, reply.body)
	}
	if reply.header.Get("x-request-id") == "" {
		t.Errorf("%s %d has no request ID", operation.ID, reply.status)
	}
	if len(reply.body) > 0 && reply.status >= 400 && reply.header.Get("Content-Type") != "application/json" {
		t.Errorf("%s %d has content type %s", operation.ID, reply.status, reply.header.Get("Content-Type"))
	}
	for status, header := range map[int]string{401: "WWW-Authenticate", 429: "Retry-After"} {
		if reply.status == status && reply.header.Get(header) == "" {
			t.Errorf("%s %d has no %s", operation.ID, status, header)
		}
	}
}

// contractCodes are the error codes of statuses that have only one.
var contractCodes = map[int]string{
	400: "invalid_input", 401: "unauthorized", 403: "forbidden", 404: "not_found", 409: "invalid_state", 413: "payload_too_large",
	425: "too_early", 426: "upgrade_required",
}

// expect sends a request and checks the status and the error code of the response.
func (h *contractHarness) expect(t testing.TB, status int, a contractRequest) contractResponse {
	t.Helper()
	reply := h.do(t, a)
	if reply.status != status {
		t.Errorf("%s %v %.200s: got %d %.400s, want %d", a.op, a.in, a.body, reply.status, reply.body, status)
	}
	if want := contractCodes[status]; want != "" && len(reply.body) > 0 && reply.text(t, "error") != want {
		t.Errorf("%s %d has the body %s, want the error %s", a.op, status, reply.body, want)
	}
	return reply
}

// call is expect for an operation with a query after a question mark, a key or token, a body and the values
// of the path's parameters.
func (h *contractHarness) call(t testing.TB, status int, bearer, op, body string, in ...string) contractResponse {
	t.Helper()
	op, query, _ := strings.Cut(op, "?")
	return h.expect(t, status, contractRequest{op: op, in: in, query: query, bearer: bearer, body: body})
}

// field returns a field of a response that is a JSON object.
func (r contractResponse) field(t testing.TB, name string) any {
	t.Helper()
	var fields map[string]any
	if err := json.Unmarshal(r.body, &fields); err != nil {
		t.Errorf("%.200s: %v", r.body, err)
	}
	return fields[name]
}

func (r contractResponse) text(t testing.TB, name string) string {
	t.Helper()
	text, _ := r.field(t, name).(string)
	return text
}

// has reports whether the body of a response contains a text.
func (r contractResponse) has(text string) bool { return bytes.Contains(r.body, []byte(text)) }

// refuse checks that a request is refused because of one field, the path of which is given.
func (h *contractHarness) refuse(t testing.TB, path, bearer, op, body string, in ...string) {
	t.Helper()
	if refused := h.call(t, 400, bearer, op, body, in...); !refused.has(`"path":[` + path + `]`) {
		t.Errorf("%s with %.80s: %s, want the path %s", op, body, refused.body, path)
	}
}

// invite sends an invite of a calendar.
func (h *contractHarness) invite(t testing.TB, status int, body string) contractResponse {
	t.Helper()
	return h.expect(t, status, contractRequest{
		op: "intakeInvite", header: map[string]string{"x-service-intake-secret": contractIntakeSecret}, body: body,
	})
}

// create creates a job and returns its ID.
func (h *contractHarness) create(t testing.TB, key, body string) string {
	t.Helper()
	return h.call(t, http.StatusCreated, key, "createJob", body).text(t, "id")
}

// contractJob returns the body of a create request with the required fields and more.
func contractJob(more string) string {
	return `{"externalId":"` + uuid.NewString() + `","meetingUrl":"https://meet.google.com/abc-defg-hij"` + more + `}`
}

// contractFuture is a joinAt in the far future, so that the job stays scheduled.
const contractFuture = `,"joinAt":"2999-01-01T00:00:00Z"`

// contractToken returns the token of a bot.
func contractToken(id string, attempt int) string {
	return ingest.Token([]byte(contractSigningKey), id, attempt)
}

// sendEvent sends an event of a job's first bot.
func (h *contractHarness) sendEvent(t testing.TB, id, kind, data string) contractResponse {
	t.Helper()
	return h.expect(t, http.StatusOK, contractEvent(id, 0, kind, data))
}

// contractEvent returns an event of a bot.
func contractEvent(id string, attempt int, kind, data string) contractRequest {
	body := fmt.Sprintf(`{"kind":%q,"jobId":%q,"attempt":%d,"emittedAt":%q`, kind, id, attempt, time.Now().UTC().Format(time.RFC3339Nano))
	if data != "" {
		body += `,"data":` + data
	}
	return contractRequest{op: "ingestEvent", bearer: contractToken(id, attempt), body: body + "}"}
}

// awaitStatus waits until a job has one of the statuses, and returns it.
func (h *contractHarness) awaitStatus(t testing.TB, key, id string, statuses ...job.Status) contractResponse {
	t.Helper()
	var reply contractResponse
	await.Until(t, fmt.Sprintf("job %s in %v", id, statuses), func() bool {
		reply = h.call(t, http.StatusOK, key, "getJob", "", id)
		return slices.Contains(statuses, job.Status(reply.text(t, "status")))
	})
	return reply
}

// contractHooks is a consumer's webhook receiver. It verifies each webhook and checks
// it against the API description.
type contractHooks struct {
	*httptest.Server
	mu     sync.Mutex
	events []string // of all jobs, in order of arrival
	last   string   // body of the last one
	status int      // of the responses
}

func newContractHooks(t testing.TB, checker *apicheck.Checker) *contractHooks {
	t.Helper()
	hooks := &contractHooks{status: http.StatusNoContent}
	hooks.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = client.VerifyWebhook(r.Header, body, contractHookSecret, time.Now())
		}
		if err != nil || r.Header.Get(webhook.VersionHeader) != "2" {
			t.Errorf("webhook with headers %v: %v", r.Header, err)
		}
		var envelope struct{ Event string }
		if err := json.Unmarshal(body, &envelope); err != nil {
			t.Errorf("a webhook is not JSON: %v", err)
		}
		if err := checker.Webhook(envelope.Event, body); err != nil {
			t.Errorf("a webhook does not match the API description: %v\n%s", err, body)
		}
		hooks.mu.Lock()
		defer hooks.mu.Unlock()
		hooks.events, hooks.last = append(hooks.events, envelope.Event), string(body)
		w.WriteHeader(hooks.status)
	}))
	t.Cleanup(hooks.Close)
	return hooks
}

// has reports whether an event has arrived.
func (c *contractHooks) has(event string) bool { return c.count(event) > 0 }

// count returns how often an event has arrived.
func (c *contractHooks) count(event string) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, arrived := range c.events {
		if arrived == event {
			n++
		}
	}
	return n
}

// contractSigned returns the signature header of a payment event.
func contractSigned(secret, body string, at time.Time) map[string]string {
	stamp := strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(stamp + "." + body))
	return map[string]string{"Payment-Signature": "t=" + stamp + ",v1=" + hex.EncodeToString(mac.Sum(nil))}
}

// contractSum returns the checksum header of an upload.
func contractSum(body string) map[string]string {
	sum := sha256.Sum256([]byte(body))
	return map[string]string{ingest.ChecksumHeader: hex.EncodeToString(sum[:])}
}
