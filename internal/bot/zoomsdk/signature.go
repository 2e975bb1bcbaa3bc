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

// Role is what a signature lets its bearer do in a meeting.
type Role int

// The roles that the SDK knows.
const (
	Attendee Role = 0
	Host     Role = 1
)

const (
	// signatureTime is how long a signature is good for. Zoom takes from half an
	// hour to two days. It is used at joining, and a page that has to join anew
	// asks for a new one.
	signatureTime = time.Hour
	// clockSkew is how far this machine's clock may be ahead of Zoom's.
	clockSkew = 30 * time.Second
)

// claims are the payload of an SDK JWT.
type claims struct {
	AppKey        string `json:"appKey"` // what version 5 and later read
	SDKKey        string `json:"sdkKey"` // what earlier ones read
	MeetingNumber string `json:"mn"`
	Role          Role   `json:"role"`
	IssuedAt      int64  `json:"iat"` // seconds since 1970, as all times here
	ExpiresAt     int64  `json:"exp"`
	TokenExpires  int64  `json:"tokenExp"`
}

// Signature makes the SDK JWT with which one meeting can be joined: the only
// thing made of the secret that the page ever sees.
func Signature(settings Settings, meetingNumber string, role Role, now time.Time) (string, error) {
	switch {
	case settings.Key == "" || settings.Secret == "":
		return "", settings.Validate()
	case !numberPattern().MatchString(meetingNumber):
		return "", errors.New("a meeting's number has 9 to 12 digits")
	case role != Attendee && role != Host:
		return "", fmt.Errorf("the SDK knows no role %d", role)
	}
	issued := now.Add(-clockSkew)
	expires := now.Add(signatureTime).Unix()
	payload, err := json.Marshal(claims{
		AppKey: settings.Key, SDKKey: settings.Key, MeetingNumber: meetingNumber, Role: role,
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

// numberPattern is the form of a meeting's number.
func numberPattern() *regexp.Regexp { return regexp.MustCompile(`^\d{9,12}$`) }
