package client

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// Login is a pending device flow. The user opens VerifyURL in a browser and
// authorizes this program.
type Login struct {
	Nonce     string    `json:"nonce"`
	VerifyURL string    `json:"verifyUrl"`
	ExpiresAt time.Time `json:"expiresAt"`
}

// Grant is the result of a completed device flow.
type Grant struct {
	APIKey string `json:"apiKey"`
	Email  string `json:"email"` // may be empty
}

// ErrLoginExpired reports that the program was not authorized in time.
var ErrLoginExpired = errors.New("the login was not authorized in time")

// StartLogin starts a device flow.
func (c *Client) StartLogin(ctx context.Context) (Login, error) {
	return fetch[Login](ctx, c, http.MethodPost, nil, "cli-auth", "init")
}

// AwaitLogin polls at an interval of at least a second until the flow is complete.
// The error is ErrLoginExpired when the flow expired.
func (c *Client) AwaitLogin(ctx context.Context, login Login, interval time.Duration) (Grant, error) {
	for {
		pause := max(interval, time.Second)
		var response struct {
			Status string `json:"status"`
			Grant
		}
		_, err := c.call(ctx, request{method: http.MethodPost, path: apiPath("cli-auth", "poll", login.Nonce)}, &response)
		var apiError *Error
		switch {
		case errors.As(err, &apiError) && apiError.Status == http.StatusGone:
			return Grant{}, ErrLoginExpired
		case errors.As(err, &apiError) && apiError.Status == http.StatusTooManyRequests:
			pause = max(pause, apiError.RetryAfter)
		case err != nil:
			return Grant{}, err
		case response.Status == "complete":
			return response.Grant, nil
		}
		if err := sleep(ctx, pause); err != nil {
			return Grant{}, err
		}
	}
}
