package dashboard

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"standin/internal/account"
	"standin/internal/jobs/job"
)

// referenceKey is the name of the keys with which the API reference sends requests, and
// referenceKeyLife is how long they are valid.
const (
	referenceKey     = "API reference"
	referenceKeyLife = time.Hour
)

// referenceSession tells the API reference who is signed in, with the token of the session's
// forms. The status is 204 if nobody is.
func (d *Dashboard) referenceSession(req *pageRequest) error {
	session, secret, err := d.sessionOf(req.Request)
	if job.ErrorIs(err, job.Unauthorized) {
		req.WriteHeader(http.StatusNoContent)
		return nil
	}
	if err != nil {
		return err
	}
	return req.writeJSON(map[string]string{
		"name": session.User.Name, "team": session.User.Consumer, "token": account.FormToken(secret),
	})
}

// createReferenceKey creates a test key with the scope of the user's role, with which the API
// reference sends requests.
func (d *Dashboard) createReferenceKey(req *pageRequest) error {
	as := req.as(job.Test)
	key, secret, err := d.Keys.Create(req.Context(), as, job.Test, account.KeyOptions{
		Name: referenceKey, Scope: as.Scope, ExpiresAt: d.Now().Add(referenceKeyLife), Reference: true,
	})
	if err != nil {
		return err
	}
	return req.writeJSON(map[string]any{"key": secret, "expiresAt": job.Timestamp(key.ExpiresAt)})
}

// writeJSON responds with a JSON object.
func (req *pageRequest) writeJSON(value any) error {
	encoded, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encode the response: %w", err)
	}
	return req.write("application/json", encoded)
}
