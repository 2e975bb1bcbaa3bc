package mail

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"standin/internal/calendar"
	"standin/internal/jobs/job"
)

// Scheduler passes invites to the service. The Result of a cancellation names
// the job that was cancelled; it is zero if there is none.
type Scheduler interface {
	Schedule(ctx context.Context, invite calendar.Invite) (calendar.Result, error)
}

// RejectedError is the error for a meeting, or an occurrence of one, that is never
// accepted.
type RejectedError struct{ Reason string }

func (e *RejectedError) Error() string { return e.Reason }

// Client is the Scheduler of a running service: operation intakeInvite of
// api/openapi.yaml.
type Client struct {
	url    string
	secret string
	http   http.Client
}

// NewClient returns the client of the service with a URL and a STANDIN_INTAKE_SECRET.
// It follows no redirect, because another host would get the secret.
func NewClient(url, secret string) *Client {
	return &Client{
		url: strings.TrimRight(url, "/"), secret: secret,
		http: http.Client{Timeout: requestTime, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
}

// requestTime is how long one request to the service may last.
const requestTime = 30 * time.Second

// maxResponse limits the response of the service, in bytes.
const maxResponse = 64 << 10

// Schedule implements Scheduler. An error other than a *RejectedError may be
// temporary.
func (c *Client) Schedule(ctx context.Context, invite calendar.Invite) (calendar.Result, error) {
	invite.Source = calendar.FromMail
	body, err := json.Marshal(invite)
	if err != nil {
		return calendar.Result{}, fmt.Errorf("encode an invite: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+"/api/v1/intake/calendar-invite", bytes.NewReader(body))
	if err != nil {
		return calendar.Result{}, fmt.Errorf("pass an invite to the service: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("x-service-intake-secret", c.secret)
	response, err := c.http.Do(request)
	if err != nil {
		return calendar.Result{}, fmt.Errorf("pass an invite to the service: %w", err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxResponse))
	if err != nil {
		return calendar.Result{}, fmt.Errorf("read the response of the service: %w", err)
	}
	return readResult(response.StatusCode, text, invite.Cancelled)
}

// readResult reads a response of the service.
func readResult(status int, text []byte, cancelled bool) (result calendar.Result, err error) {
	switch {
	case status == http.StatusOK || status == http.StatusCreated:
		if err := json.Unmarshal(text, &result); err != nil {
			return result, fmt.Errorf("read the response of the service: %w", err)
		}
		return result, nil
	case status == http.StatusNotFound && cancelled:
		return result, nil
	}
	var body struct { // the Error schema
		Error   job.ErrorCode `json:"error"`
		Message string        `json:"message"`
	}
	_ = json.Unmarshal(text, &body) // another server may have responded
	reason := printable(body.Message, maxSubject)
	switch {
	case status == http.StatusBadRequest && body.Error == job.InvalidInput:
		return result, &RejectedError{Reason: reason}
	case status == http.StatusUnauthorized:
		return result,
			errors.New("the service refused the intake secret: STANDIN_INTAKE_SECRET must be the same for the service and the mail worker")
	}
	return result, fmt.Errorf("the service responded with %d %s", status, reason)
}
