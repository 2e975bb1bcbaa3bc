package limit

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// Sizes of the sender of Webhook.
const (
	postsAtOnce = 64
	maxUnsent   = 4096
)

// sender posts the jobs that an inserter has stored, and stores that they were
// delivered.
type sender struct {
	inserter
	unsent chan response
	client *http.Client
}

func newSender(ctx context.Context, jobs inserter) *sender {
	transport := &http.Transport{MaxIdleConnsPerHost: postsAtOnce}
	s := &sender{inserter: jobs, unsent: make(chan response, maxUnsent), client: &http.Client{Transport: transport, Timeout: 15 * time.Second}}
	for range postsAtOnce {
		go s.run(ctx)
	}
	return s
}

// insert stores a job and queues its webhook.
func (s *sender) insert(ctx context.Context, r response) error {
	err := s.inserter.insert(ctx, r)
	if err == nil {
		s.unsent <- r
	}
	return err
}

// run posts webhooks until ctx ends.
func (s *sender) run(ctx context.Context) {
	for {
		select {
		case r := <-s.unsent:
			if err := s.post(ctx, r); err != nil && ctx.Err() == nil {
				fmt.Fprintln(os.Stderr, "post a webhook:", err)
			}
		case <-ctx.Done():
			return
		}
	}
}

// post posts a webhook and stores that it was delivered.
func (s *sender) post(ctx context.Context, r response) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, r.Webhooks.OnStatusChange, bytes.NewReader(text))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := s.client.Do(request)
	if err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, answer.Body)
	_ = answer.Body.Close()
	return s.delivered(ctx, r)
}
