package job

import (
	"time"

	"github.com/google/uuid"
)

// ShareLink is a link that shows the recording of a job to people who are not signed in.
type ShareLink struct {
	Hash      string // hex SHA-256 of the token, which only the link has
	JobID     uuid.UUID
	CreatedAt time.Time
	CreatedBy string // e-mail of a user
	ExpiresAt time.Time
}
