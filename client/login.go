package client

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// Login is an open device flow (specification, Device-flow records): somebody
// opens VerifyURL in a browser and authorizes this program.
type Login struct {
	Nonce     string    `json:"nonce"`
	VerifyURL string    `json:"verifyUrl"`
	ExpiresAt time.Time `json:"expiresAt"`
}

// Grant is what a completed device flow hands out.
type Grant struct {
	APIKey string `json:"apiKey"`
	Email  string `json:"email"` // empty when the page did not tell
}

// ErrLoginExpired says that nobody authorized the program in time.
var ErrLoginExpired = errors.New("nobody authorized this in time")

// StartLogin opens a device flow.
func (c *Client) StartLogin(ctx context.Context) (login Login, err error) {
	_, err = c.call(ctx, request{method: http.MethodPost, path: []string{"api", "v1", "cli-auth", "init"}}, &login)
	return login, err
}

// AwaitLogin asks every interval, of at least a second, until the flow is
// complete, or expired: then the error is ErrLoginExpired.
func (c *Client) AwaitLogin(ctx context.Context, login Login, interval time.Duration) (Grant, error) {
	ticker := time.NewTicker(max(interval, time.Second))
	defer ticker.Stop()
	for {
		var answer struct {
			Status string `json:"status"`
			Grant
		}
		_, err := c.call(ctx, request{method: http.MethodPost, path: []string{"api", "v1", "cli-auth", "poll", login.Nonce}}, &answer)
		var refused *Error
		switch {
		case errors.As(err, &refused) && refused.Status == http.StatusGone:
			return Grant{}, ErrLoginExpired
		case errors.As(err, &refused) && refused.Status == http.StatusTooManyRequests:
			ticker.Reset(max(interval, refused.RetryAfter, time.Second))
		case err != nil:
			return Grant{}, err
		case answer.Status == "complete":
			return answer.Grant, nil
		}
		select {
		case <-ctx.Done():
			return Grant{}, ctx.Err()
		case <-ticker.C:
		}
	}
}
