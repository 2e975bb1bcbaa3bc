// Package account holds who may call Standin: consumers, their keys and their
// webhook secrets. It knows how a key looks, how it is kept and how it is
// checked; it knows neither HTTP nor SQL.
package account

import (
	"crypto/rand"
	"time"

	"github.com/google/uuid"

	"standin/internal/job"
)

// Consumer owns jobs, keys and a webhook secret.
type Consumer struct {
	ID                    uuid.UUID
	Name                  string
	Email                 string // empty when none is known
	WebhookSecret         string
	PreviousWebhookSecret string // signs too until PreviousSecretExpires
	PreviousSecretExpires time.Time
	WebhookURL            string // default endpoint for jobs that name none
	WebhookVersion        int
	CreatedAt             time.Time
	Retention             *time.Duration // of recordings; nil: as long as the service keeps them; 0: for ever
}

// Caller is who stands behind an authenticated request.
type Caller struct {
	KeyID      uuid.UUID
	ConsumerID uuid.UUID
	Mode       job.Mode
}

// randomBytes returns n bytes from the system's generator, which does not
// fail (crypto/rand ends the program if it ever does).
func randomBytes(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b)
	return b
}
