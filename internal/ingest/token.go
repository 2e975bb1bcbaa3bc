package ingest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
)

// Token returns the bearer token of one attempt: hex HMAC-SHA256 over
// "<jobId>:<attempt>" (specification, Authentication).
func Token(signingKey []byte, jobID string, attempt int) string {
	mac := hmac.New(sha256.New, signingKey)
	mac.Write([]byte(jobID + ":" + strconv.Itoa(attempt)))
	return hex.EncodeToString(mac.Sum(nil))
}

// ValidToken reports whether token is the attempt's, in constant time.
func ValidToken(signingKey []byte, jobID string, attempt int, token string) bool {
	return hmac.Equal([]byte(Token(signingKey, jobID, attempt)), []byte(token))
}
