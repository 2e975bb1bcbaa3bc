package webhook_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"testing"
	"time"

	"standin/client"

	"github.com/google/uuid"

	"standin/internal/jobs/job"
	"standin/internal/jobs/webhook"
)

// receiver is a consumer's server. It verifies and keeps requests.
type receiver struct {
	*httptest.Server

	mu       sync.Mutex
	received []message
}

type message struct {
	DeliveryID string
	Event      string
	EmittedAt  time.Time
	Attempt    int
	Version    int
	Data       struct{ Sequence int64 }

	header http.Header
	body   []byte
}

// newReceiver starts a receiver that responds with answer.
func newReceiver(t *testing.T, answer func(http.ResponseWriter, *http.Request, message)) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		if err != nil {
			t.Errorf("read a webhook: %v", err)
			return
		}
		if err := client.VerifyWebhook(request.Header, body, whsec, time.Now()); err != nil {
			t.Errorf("verify webhook: %v", err)
		}
		got := message{header: request.Header, body: body}
		if err := json.Unmarshal(body, &got); err != nil {
			t.Errorf("decode webhook: %v in %s", err, body)
		}
		r.mu.Lock()
		r.received = append(r.received, got)
		r.mu.Unlock()
		answer(w, request, got)
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) messages() []message {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]message(nil), r.received...)
}

func ok(http.ResponseWriter, *http.Request, message) {}

func status(code int) func(http.ResponseWriter, *http.Request, message) {
	return func(w http.ResponseWriter, _ *http.Request, _ message) { w.WriteHeader(code) }
}

// hang responds when the sender has disconnected.
func hang(_ http.ResponseWriter, request *http.Request, _ message) { <-request.Context().Done() }

// delivery returns a delivery that is due now, of its own job.
func delivery(url string) webhook.Delivery {
	return deliveryOf(uuid.New(), 1, url)
}

func deliveryOf(jobID uuid.UUID, sequence int64, url string) webhook.Delivery {
	return webhook.Delivery{
		ID:         webhook.NewDeliveryID(),
		JobID:      jobID,
		ConsumerID: jobID, // a team of its own
		Mode:       job.Live,
		URL:        url,
		Event:      webhook.JobStatusChanged,
		Sequence:   sequence,
		EmittedAt:  time.Now().Add(-time.Second),
		Data:       json.RawMessage(fmt.Sprintf(`{"sequence":%d}`, sequence)),
		Version:    webhook.Version2,
		Secrets:    []webhook.Secret{{Value: whsec}},
	}
}

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}

// hurried returns a fast schedule with as many tries as the default one.
func hurried() webhook.Schedule {
	schedule := webhook.DefaultSchedule()
	for i := range schedule {
		schedule[i] = time.Millisecond
	}
	return schedule
}

// running is a sender whose Run goes on in the background.
type running struct {
	*webhook.Sender
	cancel context.CancelFunc
	ended  chan struct{}
}

// run starts a sender that may post to loopback. The end of the test stops it
// before it closes the receivers created earlier.
func run(t *testing.T, outbox webhook.Outbox, settings webhook.Settings) *running {
	t.Helper()
	if settings.Allow == nil {
		settings.Allow = loopback
	}
	if settings.Log == nil {
		settings.Log = slog.New(slog.DiscardHandler)
	}
	if settings.Grace == 0 {
		settings.Grace = 50 * time.Millisecond
	}
	ctx, cancel := context.WithCancel(context.Background())
	sender := &running{Sender: webhook.NewSender(outbox, settings), cancel: cancel, ended: make(chan struct{})}
	go func() {
		defer close(sender.ended)
		sender.Run(ctx)
	}()
	t.Cleanup(sender.stop)
	return sender
}

func (r *running) stop() {
	r.cancel()
	<-r.ended
}
