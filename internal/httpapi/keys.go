package httpapi

import (
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/job"
)

// meBody is the response of the getMe operation.
type meBody struct {
	Consumer meConsumer `json:"consumer"`
	Key      meKey      `json:"key"`
	Service  meService  `json:"service"`
}

type meConsumer struct {
	ID   uuid.UUID `json:"id"`
	Name string    `json:"name"`
}

type meKey struct {
	ID        uuid.UUID      `json:"id"`
	Name      string         `json:"name"`
	Mode      job.Mode       `json:"mode"`
	Scope     account.Scope  `json:"scope"`
	CreatedAt job.Timestamp  `json:"createdAt"`
	ExpiresAt *job.Timestamp `json:"expiresAt"`
}

type meService struct {
	Version string `json:"version"`
}

// getMe tells a caller whose key it has.
func (a *API) getMe(w http.ResponseWriter, r *http.Request, _ account.Caller) error {
	token, _ := bearer(r)
	key, err := a.settings.Keys.Find(r.Context(), token)
	if err != nil {
		return err // it was revoked just now
	}
	body := meBody{
		Consumer: meConsumer{key.ConsumerID, key.Consumer},
		Key:      meKey{key.ID, key.Name, key.Mode, key.Scope, job.Timestamp(key.CreatedAt), job.NullTimestamp(key.ExpiresAt)},
		Service:  meService{a.settings.Version},
	}
	a.writeJSON(w, http.StatusOK, body)
	return nil
}

// keyBody is the Key schema of api/openapi.yaml.
type keyBody struct {
	ID         uuid.UUID      `json:"id"`
	Name       string         `json:"name"`
	Mode       job.Mode       `json:"mode"`
	Scope      account.Scope  `json:"scope"`
	Prefix     string         `json:"prefix"`
	CreatedAt  job.Timestamp  `json:"createdAt"`
	CreatedBy  string         `json:"createdBy"`
	LastUsedAt *job.Timestamp `json:"lastUsedAt"`
	ExpiresAt  *job.Timestamp `json:"expiresAt"`
	Secret     string         `json:"key,omitempty"` // only of a new key
}

func newKeyBody(key account.Key) keyBody {
	return keyBody{
		ID: key.ID, Name: key.Name, Mode: key.Mode, Scope: key.Scope, Prefix: key.Prefix, CreatedAt: job.Timestamp(key.CreatedAt), CreatedBy: key.CreatedBy,
		LastUsedAt: job.NullTimestamp(key.LastUsedAt), ExpiresAt: job.NullTimestamp(key.ExpiresAt),
	}
}

func (a *API) listKeys(w http.ResponseWriter, r *http.Request, caller account.Caller) error {
	keys, err := a.settings.Keys.Of(r.Context(), caller)
	if err != nil {
		return err
	}
	a.writeJSON(w, http.StatusOK, struct {
		Keys []keyBody `json:"keys"`
	}{bodiesOf(keys, newKeyBody)})
	return nil
}

func (a *API) createKey(w http.ResponseWriter, r *http.Request, caller account.Caller) error {
	var request struct {
		Name      string        `json:"name"`
		Mode      job.Mode      `json:"mode"`
		Scope     account.Scope `json:"scope"`
		ExpiresAt *time.Time    `json:"expiresAt"`
	}
	request.Mode = caller.Mode
	if err := a.readRequest(w, r, "createKey", &request); err != nil {
		return err
	}
	options := account.KeyOptions{Name: request.Name, Scope: request.Scope}
	if request.ExpiresAt != nil {
		options.ExpiresAt = *request.ExpiresAt
	}
	key, secret, err := a.settings.Keys.Create(r.Context(), caller, request.Mode, options)
	if err != nil {
		return fmt.Errorf("create a key: %w", err)
	}
	body := newKeyBody(key)
	body.Secret = secret
	a.writeJSON(w, http.StatusCreated, body)
	return nil
}

func (a *API) revokeKey(w http.ResponseWriter, r *http.Request, caller account.Caller) error {
	id, err := pathID(r, "id", "key")
	if err != nil {
		return err
	}
	if err := a.settings.Keys.Revoke(r.Context(), caller, id); err != nil {
		return err
	}
	a.settings.Revocations.Announce()
	w.WriteHeader(http.StatusNoContent)
	return nil
}
