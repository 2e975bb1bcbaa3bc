package service_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"standin/internal/jobs/job"
	"standin/internal/operation/tracing"
	"standin/internal/testing/await"
	"standin/internal/testing/tracetest"
)

// named returns the spans of a trace (hex) with a name.
func named(all []*tracepb.Span, trace, name string) (found []*tracepb.Span) {
	for _, s := range all {
		if s.Name == name && hex.EncodeToString(s.TraceId) == trace {
			found = append(found, s)
		}
	}
	return found
}

// attribute returns an attribute of a span as text.
func attribute(s *tracepb.Span, key string) string {
	for _, one := range s.Attributes {
		if one.Key == key {
			if number := one.Value.GetIntValue(); number != 0 {
				return fmt.Sprint(number)
			}
			return one.Value.GetStringValue()
		}
	}
	return ""
}

// TestTraces checks the trace of a simulated job from the API call to the webhook
// that its receiver acknowledged, and that it contains no secrets and no data of
// the meeting.
func TestTraces(t *testing.T) {
	t.Parallel()
	collector := tracetest.New(t, nil)
	var mu sync.Mutex
	received := map[string]string{} // traceparent of the webhook job.finalized, by job
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		if strings.Contains(string(body), `"event":"job.finalized"`) {
			_, after, _ := strings.Cut(string(body), `"jobId":"`)
			received[after[:36]] = r.Header.Get("traceparent")
		}
	}))
	t.Cleanup(receiver.Close)
	settings := contractSettings(t)
	settings.Tracing = tracing.Settings{
		Endpoint: collector.URL, Headers: "api-key=the%20key%20of%20the%20collector", Service: "standin",
	}
	h := openContractHarness(t, newContractCoverage(), settings)
	const callerTrace, callerSpan = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	body := func() string {
		return contractJob(`,"displayName":"Zaphod","webhooks":{"onStatusChange":"` + receiver.URL +
			`/hook?token=of-the-receiver","onFinalize":"` +
			receiver.URL + `/hook?token=of-the-receiver"},"metadata":{"simulate":{"seconds":2,"speed":100}}`)
	}
	plain := h.create(t, h.adasTest, body())
	called := h.expect(t, http.StatusCreated, contractRequest{
		op: "createJob", bearer: h.adasTest, body: body(), header: map[string]string{"traceparent": "00-" + callerTrace + "-" + callerSpan +
			"-01"},
	}).text(t, "id")
	for _, id := range []string{plain, called} {
		h.awaitStatus(t, h.adasTest, id, job.Completed)
		await.Until(t, "the webhook job.finalized", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return received[id] != ""
		})
	}
	if err := h.Close(); err != nil { // exports the rest
		t.Fatal(err)
	}

	spans := collector.Spans()
	one := func(trace, name string) *tracepb.Span {
		t.Helper()
		found := named(spans, trace, name)
		if len(found) != 1 {
			t.Fatalf("the trace %s has %d spans named %s", trace, len(found), name)
		}
		return found[0]
	}
	for _, id := range []string{plain, called} {
		trace := strings.ReplaceAll(id, "-", "")
		root := one(trace, "job")
		if len(root.ParentSpanId) != 0 || attribute(root, "standin.job.id") != id || attribute(root, "standin.outcome") != "completed" ||
			attribute(root, "standin.platform") != "meet" || root.EndTimeUnixNano <= root.StartTimeUnixNano || len(root.Events) < 5 {
			t.Errorf("the job's span is %v", root)
		}
		attempt := one(trace, "attempt")
		recorded := one(trace, "status recording_started")
		finalized := one(trace, "webhook job.finalized")
		if !bytes.Equal(attempt.ParentSpanId, root.SpanId) || !bytes.Equal(recorded.ParentSpanId, attempt.SpanId) ||
			!bytes.Equal(finalized.ParentSpanId, root.SpanId) {
			t.Errorf("the parents are wrong: %v, %v, %v", attempt, recorded, finalized)
		}
		if want := "00-" + trace + "-" + hex.EncodeToString(finalized.SpanId) + "-01"; received[id] != want {
			t.Errorf("the webhook has the traceparent %s, want %s", received[id], want)
		}
		if attribute(finalized, "http.response.status_code") != "200" || attribute(finalized, "standin.outcome") != "delivered" {
			t.Errorf("the webhook's span is %v", finalized)
		}
		if len(named(spans, trace, "webhook job.status_changed")) < 3 {
			t.Error("webhooks of status changes are missing")
		}
	}
	root := one(strings.ReplaceAll(plain, "-", ""), "job")
	if request := one(strings.ReplaceAll(plain, "-", ""), "POST /api/v1/jobs"); !bytes.Equal(request.ParentSpanId, root.SpanId) {
		t.Errorf("the parent of the request is not the job: %v", request)
	}
	request := one(callerTrace, "POST /api/v1/jobs")
	created := one(strings.ReplaceAll(called, "-", ""), "job created")
	if hex.EncodeToString(request.ParentSpanId) != callerSpan || len(request.Links) != 1 || len(created.Links) != 1 ||
		uuid.UUID(request.Links[0].TraceId).String() != called || !bytes.Equal(created.Links[0].SpanId, request.SpanId) {
		t.Errorf("the caller's request and its job are not linked: %v, %v", request, created)
	}
	for _, secret := range []string{
		h.adasTest, "of-the-receiver", "abc-defg-hij", "meet.google.com", "Zaphod", contractHookSecret, contractAdminSecret,
		"the key of the collector", receiver.URL,
	} {
		if strings.Contains(collector.Text(), secret) {
			t.Errorf("the traces contain %q", secret)
		}
	}
}
