package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"standin/internal/job"
	"standin/internal/webhook"
)

// maxHook bounds a webhook's body: a job's metadata is bounded to 1 MiB where
// it comes in.
const maxHook = 4 << 20

// hook is what the demo reads of a webhook.
type hook struct {
	DeliveryID string `json:"deliveryId"`
	Event      string `json:"event"`
	Data       struct {
		From          job.Status `json:"from"`
		To            job.Status `json:"to"`
		ManifestURI   string     `json:"manifestUri"`
		FailureCode   string     `json:"failure_code"`
		FailureDetail string     `json:"failure_detail"`
	} `json:"data"`
}

// what tells in short what happened.
func (h hook) what() string {
	switch {
	case h.Data.To != "":
		return fmt.Sprintf("%s → %s", h.Data.From, h.Data.To)
	case h.Data.ManifestURI != "":
		return h.Data.ManifestURI
	}
	return h.Data.FailureCode
}

// hookReceiver is a consumer's webhook receiver on the loopback interface. It
// verifies every webhook before it believes it.
type hookReceiver struct {
	url      string
	received chan hook
	refused  chan error
	server   *http.Server
	secret   webhook.Secret
	done     chan struct{}
}

// receiveHooks starts a receiver for webhooks signed with the secret.
func receiveHooks(ctx context.Context, secret string) (*hookReceiver, error) {
	listener, err := listenLoopback(ctx)
	if err != nil {
		return nil, fmt.Errorf("listen for webhooks: %w", err)
	}
	r := &hookReceiver{
		url:      "http://" + listener.Addr().String() + "/hooks",
		received: make(chan hook, 64),
		refused:  make(chan error, 1),
		secret:   webhook.Secret{Value: secret},
		done:     make(chan struct{}),
	}
	r.server = &http.Server{Handler: r, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		defer close(r.done)
		if err := r.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			r.refuse(err)
		}
	}()
	return r, nil
}

// ServeHTTP takes a webhook.
func (r *hookReceiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, request.Body, maxHook))
	if err == nil {
		err = webhook.Verify(request.Header, body, r.secret.Value, time.Now())
	}
	var got hook
	if err == nil {
		err = json.Unmarshal(body, &got)
	}
	if err != nil {
		r.refuse(err)
		http.Error(w, "refused", http.StatusBadRequest)
		return
	}
	select {
	case r.received <- got:
		w.WriteHeader(http.StatusNoContent)
	case <-request.Context().Done():
	}
}

// refuse keeps the first error.
func (r *hookReceiver) refuse(err error) {
	select {
	case r.refused <- err:
	default:
	}
}

// close ends the receiver.
func (r *hookReceiver) close() error {
	err := r.server.Close()
	<-r.done
	return err
}
