package demo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"standin/client"
)

// webhookReceiver is the webhook receiver of the demo's consumer, on the loopback
// interface. It verifies every webhook.
type webhookReceiver struct {
	url      string
	received chan client.Webhook
	failed   chan error // the first error
	server   *http.Server
	secret   string
	done     chan struct{}
}

// newWebhookReceiver starts a receiver for webhooks signed with the secret.
func newWebhookReceiver(ctx context.Context, secret string) (*webhookReceiver, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for webhooks: %w", err)
	}
	r := &webhookReceiver{
		url:      "http://" + listener.Addr().String() + "/webhooks",
		received: make(chan client.Webhook, 64),
		failed:   make(chan error, 1),
		secret:   secret,
		done:     make(chan struct{}),
	}
	r.server = &http.Server{Handler: r, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		defer close(r.done)
		if err := r.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			r.fail(err)
		}
	}()
	return r, nil
}

// ServeHTTP receives a webhook.
func (r *webhookReceiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	got, err := client.ReceiveWebhook(request, r.secret)
	if err != nil {
		r.fail(err)
		http.Error(w, "invalid webhook", http.StatusBadRequest)
		return
	}
	select {
	case r.received <- got:
		w.WriteHeader(http.StatusNoContent)
	case <-request.Context().Done():
	}
}

// fail stores the first error.
func (r *webhookReceiver) fail(err error) {
	select {
	case r.failed <- err:
	default:
	}
}

// close stops the receiver.
func (r *webhookReceiver) close() error {
	err := r.server.Close()
	<-r.done
	return err
}

// webhookSummary describes the event of a webhook in a few words.
func webhookSummary(w client.Webhook) string {
	switch {
	case w.Data.To != "":
		return fmt.Sprintf("%s → %s", w.Data.From, w.Data.To)
	case w.Data.ManifestURI != "":
		return w.Data.ManifestURI
	}
	return text(w.Data.FailureCode)
}
