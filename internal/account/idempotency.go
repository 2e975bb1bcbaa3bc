package account

import (
	"time"

	"github.com/google/uuid"

	"standin/internal/jobs/job"
)

// KeptRequest is a request with an Idempotency-Key, which is answered once.
type KeptRequest struct {
	ConsumerID uuid.UUID
	Mode       job.Mode
	Key        string
	Hash       string // of the operation and the body
	At         time.Time
	Answer     string // sealed; empty while the request is being answered
}

// KeptLifetime is how long the answer to a request with an Idempotency-Key is kept.
const KeptLifetime = 24 * time.Hour
