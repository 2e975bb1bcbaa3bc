package zoomsdk

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"time"
)

const (
	// signatureLifetime is how long a signature is valid. Zoom accepts half an hour
	// to two days. The page uses a signature once, to join.
	signatureLifetime = time.Hour
	// clockSkew is how far this machine's clock may be ahead of Zoom's.
	clockSkew = 30 * time.Second
)

// claims are the payload of an SDK JWT.
type claims struct {
	AppKey        string `json:"appKey"` // read by version 5 and later
	SDKKey        string `json:"sdkKey"` // read by earlier versions
	MeetingNumber string `json:"mn"`
	Role          int    `json:"role"` // 0: attendee
	IssuedAt      int64  `json:"iat"`  // seconds since 1970, as all times here
	ExpiresAt     int64  `json:"exp"`
	TokenExpires  int64  `json:"tokenExp"`
}

// Signature returns the SDK JWT that joins one meeting as an attendee. It is the only value
// derived from the secret that the page gets.
func Signature(settings Settings, meetingNumber string, now time.Time) (string, error) {
	switch {
	case settings.Key == "" || settings.Secret == "":
		return "", settings.Validate()
	case !numberPattern.MatchString(meetingNumber):
		return "", errors.New("a meeting's number has 9 to 12 digits")
	}
	issued := now.Add(-clockSkew)
	expires := now.Add(signatureLifetime).Unix()
	payload, err := json.Marshal(claims{
		AppKey: settings.Key, SDKKey: settings.Key, MeetingNumber: meetingNumber,
		IssuedAt: issued.Unix(), ExpiresAt: expires, TokenExpires: expires,
	})
	if err != nil {
		return "", fmt.Errorf("encode the signature's claims: %w", err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	signed := encode([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + encode(payload)
	mac := hmac.New(sha256.New, []byte(settings.Secret))
	mac.Write([]byte(signed))
	return signed + "." + encode(mac.Sum(nil)), nil
}

// numberPattern matches a meeting number.
var numberPattern = regexp.MustCompile(`^\d{9,12}$`)
