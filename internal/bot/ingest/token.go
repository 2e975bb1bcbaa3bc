package ingest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// Token returns the bearer token of an attempt: hex HMAC-SHA256 over
// "<jobId>:<attempt>".
func Token(signingKey []byte, jobID string, attempt int) string {
	mac := hmac.New(sha256.New, signingKey)
	mac.Write([]byte(jobID + ":" + strconv.Itoa(attempt)))
	return hex.EncodeToString(mac.Sum(nil))
}

// Bot is the bot of an attempt of a job that has sent a message. Only Authenticate and
// Simulated return one, so that whoever has a Bot knows that nobody pretends to be it.
type Bot struct {
	jobID   uuid.UUID
	attempt int
}

// Authenticate returns the bot of an attempt, if token is that of the attempt; false for any
// other token. It compares in constant time. The hex digits may be in upper case.
func Authenticate(signingKey []byte, jobID uuid.UUID, attempt int, token string) (Bot, bool) {
	if !hmac.Equal([]byte(Token(signingKey, jobID.String(), attempt)), []byte(strings.ToLower(token))) {
		return Bot{}, false
	}
	return Bot{jobID, attempt}, true
}

// Simulated returns a bot that runs in this process.
func Simulated(jobID uuid.UUID, attempt int) Bot { return Bot{jobID, attempt} }

// JobID returns the job of the bot.
func (b Bot) JobID() uuid.UUID { return b.jobID }

// Attempt returns the attempt of the job for which the bot was started.
func (b Bot) Attempt() int { return b.attempt }
