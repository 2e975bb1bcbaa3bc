package chaos

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/google/uuid"
)

// receiver is a consumer's webhook endpoint. It stores all webhooks.
type receiver struct {
	server *httptest.Server

	hanging sync.RWMutex // locked while no webhook is answered

	mu  sync.Mutex
	got map[uuid.UUID]map[string]hook // by job and delivery
}

// hook is a received webhook.
type hook struct {
	Event    string
	Sequence int64
	From, To string
	times    int
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{got: make(map[uuid.UUID]map[string]hook)}
	r.server = httptest.NewServer(http.HandlerFunc(r.receive))
	t.Cleanup(r.server.Close)
	return r
}

// hang makes the receiver answer nothing until resume is called.
func (r *receiver) hang() (resume func()) {
	r.hanging.Lock()
	return r.hanging.Unlock
}

// receive stores a webhook and acknowledges it.
func (r *receiver) receive(w http.ResponseWriter, request *http.Request) {
	r.hanging.RLock()
	defer r.hanging.RUnlock()
	var envelope struct {
		DeliveryID string
		Event      string
		Data       struct {
			JobID    uuid.UUID
			Sequence int64
			From, To string
		}
	}
	if err := json.NewDecoder(request.Body).Decode(&envelope); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	of := r.got[envelope.Data.JobID]
	if of == nil {
		of = make(map[string]hook)
		r.got[envelope.Data.JobID] = of
	}
	known := of[envelope.DeliveryID]
	of[envelope.DeliveryID] = hook{
		Event: envelope.Event, Sequence: envelope.Data.Sequence, From: envelope.Data.From, To: envelope.Data.To, times: known.times + 1,
	}
}

// of returns the webhooks of a job by delivery ID.
func (r *receiver) of(id uuid.UUID) map[string]hook {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make(map[string]hook, len(r.got[id]))
	for delivery, one := range r.got[id] {
		all[delivery] = one
	}
	return all
}
