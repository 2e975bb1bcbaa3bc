package ingest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
)

// Token returns the bearer token of an attempt: hex HMAC-SHA256 over
// "<jobId>:<attempt>".
func Token(signingKey []byte, jobID string, attempt int) string {
	mac := hmac.New(sha256.New, signingKey)
	mac.Write([]byte(jobID + ":" + strconv.Itoa(attempt)))
	return hex.EncodeToString(mac.Sum(nil))
}

// ValidToken reports whether token is the token of the attempt, in constant time.
// Its hex digits may be in upper case.
func ValidToken(signingKey []byte, jobID string, attempt int, token string) bool {
	return hmac.Equal([]byte(Token(signingKey, jobID, attempt)), []byte(strings.ToLower(token)))
}
