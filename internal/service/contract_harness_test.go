package service_test

import (
	"context"
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

	"github.com/google/uuid"

	"standin/api"
	"standin/internal/ingest"
	"standin/internal/job"
	"standin/internal/service"
	"standin/internal/webhook"
)

// What contract tests configure.
const (
	contractSigningKey    = "the ingest signing key"
	contractIntakeSecret  = "the intake secret"
	contractAdminSecret   = "the admin secret"
	contractPaymentSecret = "whsec_of_the_payment_provider"
	contractHookSecret    = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	contractPatience      = 30 * time.Second
)

// contractHarness is the whole program, in this process, with two consumers.
type contractHarness struct {
	*service.Service
	description *api.Description
	walk        *contractWalk
	client      *http.Client
	ada, bob    string // keys for live jobs
	adasTest    string // a key for jobs in the simulator
	adasKeyID   uuid.UUID
}

// contractWalk notes which statuses of which operations were seen.
type contractWalk struct {
	mu   sync.Mutex
	seen map[string]bool // "operation status"
}

func newContractWalk() *contractWalk { return &contractWalk{seen: map[string]bool{}} }

func (w *contractWalk) note(operation string, status int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen[operation+" "+strconv.Itoa(status)] = true
}

// contractSettings are of a service that starts no live bots, on a free port.
func contractSettings(dir string) service.Settings {
	return service.Settings{
		Listen: "127.0.0.1:0", DataDir: dir, Launcher: "manual", IngestSigningKey: contractSigningKey,
		IntakeSecret: contractIntakeSecret, AdminSecret: contractAdminSecret,
		PaymentWebhookSecret: contractPaymentSecret, WebhookSecret: contractHookSecret,
		Log: slog.New(slog.DiscardHandler),
	}
}

// openContractHarness starts the program; it is closed when the test ends.
func openContractHarness(t testing.TB, walk *contractWalk, settings service.Settings) *contractHarness {
	t.Helper()
	description, err := api.Load()
	if err != nil {
		t.Fatal(err)
	}
	h := &contractHarness{
		description: description, walk: walk,
		client: &http.Client{
			Transport:     &http.Transport{MaxIdleConnsPerHost: 32},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
	if h.Service, err = service.Start(t.Context(), settings); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() }) // a test that cares closes it itself
	t.Cleanup(h.client.CloseIdleConnections)
	h.ada, h.adasKeyID = h.newKey(t, "ada", job.Live)
	h.adasTest, _ = h.newKey(t, "ada", job.Test)
	h.bob, _ = h.newKey(t, "bob", job.Live)
	return h
}

// newKey makes a key of a consumer's.
func (h *contractHarness) newKey(t testing.TB, consumer string, mode job.Mode) (string, uuid.UUID) {
	t.Helper()
	key, secret, err := h.Keys.Issue(t.Context(), consumer, consumer+"@example.com", mode)
	if err != nil {
		t.Fatal(err)
	}
	return secret, key.ID
}

// contractAsk is a request to an operation.
type contractAsk struct {
	op     string
	in     []string // values of the path's parameters
	query  string
	bearer string
	header map[string]string
	body   string
}

// contractReply is the answer to it.
type contractReply struct {
	status int
	header http.Header
	body   []byte
}

// operation finds an operation of the description.
func (h *contractHarness) operation(t testing.TB, id string) api.Operation {
	t.Helper()
	operations := h.description.Operations()
	at := slices.IndexFunc(operations, func(o api.Operation) bool { return o.ID == id })
	if at < 0 {
		t.Fatalf("the description has no operation %s", id)
	}
	return operations[at]
}

// path fills the parameters of an operation's path.
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

// ask sends a request, holds the answer against the description, and notes
// its status as seen.
func (h *contractHarness) ask(t testing.TB, a contractAsk) contractReply {
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
		t.Fatalf("%s: read the answer: %v", a.op, err)
	}
	reply := contractReply{answer.StatusCode, answer.Header, body}
	h.check(t, operation, reply)
	return reply
}

// check holds an answer against the description.
func (h *contractHarness) check(t testing.TB, operation api.Operation, reply contractReply) {
	t.Helper()
	h.walk.note(operation.ID, reply.status)
	if err := h.description.CheckResponse(operation.Method, operation.Path, reply.status, reply.body); err != nil {
		t.Errorf("%s %d does not fit the description: %v\n%.400s", operation.ID, reply.status, err, reply.body)
	}
	if reply.header.Get("x-request-id") == "" {
		t.Errorf("%s %d has no request id", operation.ID, reply.status)
	}
	if len(reply.body) > 0 && reply.status >= 400 && reply.header.Get("Content-Type") != "application/json" {
		t.Errorf("%s %d is %s", operation.ID, reply.status, reply.header.Get("Content-Type"))
	}
	for status, header := range map[int]string{401: "WWW-Authenticate", 429: "Retry-After"} {
		if reply.status == status && reply.header.Get(header) == "" {
			t.Errorf("%s %d has no %s", operation.ID, status, header)
		}
	}
}

// expect asks, and fails unless the status is the one wanted.
func (h *contractHarness) expect(t testing.TB, status int, a contractAsk) contractReply {
	t.Helper()
	reply := h.ask(t, a)
	if reply.status != status {
		t.Errorf("%s %v %.200s answers %d %.400s, want %d", a.op, a.in, a.body, reply.status, reply.body, status)
	}
	return reply
}

// expectCode is expect for an error with a code.
func (h *contractHarness) expectCode(t testing.TB, status int, code string, a contractAsk) contractReply {
	t.Helper()
	reply := h.expect(t, status, a)
	if got := reply.field(t, "error"); got != code {
		t.Errorf("%s %d has the code %v, want %s", a.op, reply.status, got, code)
	}
	return reply
}

// field is a field of an answer that is an object.
func (r contractReply) field(t testing.TB, name string) any {
	t.Helper()
	var fields map[string]any
	if err := json.Unmarshal(r.body, &fields); err != nil {
		t.Errorf("%.200s: %v", r.body, err)
	}
	return fields[name]
}

func (r contractReply) text(t testing.TB, name string) string {
	t.Helper()
	text, _ := r.field(t, name).(string)
	return text
}

// create makes a job and returns its id.
func (h *contractHarness) create(t testing.TB, key, body string) string {
	t.Helper()
	return h.expect(t, http.StatusCreated, contractAsk{op: "createJob", bearer: key, body: body}).text(t, "id")
}

// contractJob is the body of a create request that asks for the least, with
// more fields.
func contractJob(more string) string {
	return `{"externalId":"` + uuid.NewString() + `","meetingUrl":"https://meet.google.com/abc-defg-hij"` + more + `}`
}

// contractFuture is a joinAt far ahead: the job stays scheduled.
const contractFuture = `,"joinAt":"2999-01-01T00:00:00Z"`

// contractToken is a bot's.
func contractToken(id string, attempt int) string {
	return ingest.Token([]byte(contractSigningKey), id, attempt)
}

// sendEvent sends a bot's event.
func (h *contractHarness) sendEvent(t testing.TB, id, kind, data string) contractReply {
	t.Helper()
	body := fmt.Sprintf(`{"kind":%q,"jobId":%q,"attempt":0,"emittedAt":%q`, kind, id, time.Now().UTC().Format(time.RFC3339Nano))
	if data != "" {
		body += `,"data":` + data
	}
	return h.expect(t, http.StatusOK, contractAsk{op: "ingestEvent", bearer: contractToken(id, 0), body: body + "}"})
}

// awaitStatus waits until a job is in one of the states, and returns it.
func (h *contractHarness) awaitStatus(t testing.TB, key, id string, statuses ...job.Status) contractReply {
	t.Helper()
	var reply contractReply
	contractEventually(t, fmt.Sprintf("job %s in %v", id, statuses), func() bool {
		reply = h.expect(t, http.StatusOK, contractAsk{op: "getJob", in: []string{id}, bearer: key})
		return slices.Contains(statuses, job.Status(reply.text(t, "status")))
	})
	return reply
}

// contractEventually polls until a condition holds.
func contractEventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), contractPatience)
	defer cancel()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for !holds() {
		select {
		case <-again.C:
		case <-ctx.Done():
			t.Fatalf("there never was %s", what)
		}
	}
}

// contractHooks is a consumer's webhook receiver, which verifies each webhook
// and holds it against the description.
type contractHooks struct {
	*httptest.Server
	mu     sync.Mutex
	events []string // of all jobs, in the order of arrival
	status int      // that is answered
}

func newContractHooks(t testing.TB, description *api.Description) *contractHooks {
	t.Helper()
	hooks := &contractHooks{status: http.StatusNoContent}
	hooks.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = webhook.Verify(r.Header, body, contractHookSecret, time.Now())
		}
		if err != nil || r.Header.Get(webhook.VersionHeader) != "2" {
			t.Errorf("a webhook with the headers %v: %v", r.Header, err)
		}
		var envelope struct{ Event string }
		if err := json.Unmarshal(body, &envelope); err != nil {
			t.Errorf("a webhook is no JSON: %v", err)
		}
		if err := description.CheckWebhook(envelope.Event, body); err != nil {
			t.Errorf("a webhook does not fit the description: %v\n%s", err, body)
		}
		hooks.mu.Lock()
		defer hooks.mu.Unlock()
		hooks.events = append(hooks.events, envelope.Event)
		w.WriteHeader(hooks.status)
	}))
	t.Cleanup(hooks.Close)
	return hooks
}

// has reports whether an event has arrived.
func (c *contractHooks) has(event string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Contains(c.events, event)
}

// contractSigned is the header of a payment event.
func contractSigned(secret, body string, at time.Time) map[string]string {
	stamp := strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(stamp + "." + body))
	return map[string]string{"Payment-Signature": "t=" + stamp + ",v1=" + hex.EncodeToString(mac.Sum(nil))}
}

// contractSum is the header of an upload.
func contractSum(body string) map[string]string {
	sum := sha256.Sum256([]byte(body))
	return map[string]string{ingest.ChecksumHeader: hex.EncodeToString(sum[:])}
}
