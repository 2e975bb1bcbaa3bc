package calendarsync

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"standin/internal/account"
)

// Key encrypts what gives access to calendars, mailboxes and accounts.
type Key struct {
	account.Sealer
	mac []byte
}

// Purposes separate the uses of the secret.
const (
	keyPurpose    = "standin calendars"
	notifyPurpose = "standin calendar notifications"
)

// errSealed is the error of Open for a text that was encrypted with another key.
var errSealed = errors.New("it was encrypted with another key: STANDIN_ENCRYPTION_KEY, or else the ingest signing key, must be the one with which the calendar, mailbox or account was added; or add it again")

// NewKey returns a key that is derived from a secret.
func NewKey(secret []byte) (Key, error) {
	sealer, err := account.NewSealer(secret, keyPurpose)
	if err != nil {
		return Key{}, err
	}
	mac, err := hkdf.Key(sha256.New, secret, nil, notifyPurpose, 32)
	if err != nil {
		return Key{}, fmt.Errorf("derive a key: %w", err)
	}
	return Key{sealer, mac}, nil
}

// notifySecret returns what ends the URL of notifications about the calendar with an ID.
func (k Key) notifySecret(id string) string {
	mac := hmac.New(sha256.New, k.mac)
	mac.Write([]byte(id))
	return hex.EncodeToString(mac.Sum(nil))
}

// Open decrypts a text.
func (k Key) Open(id, sealed string) (string, error) {
	text, ok := k.Sealer.Open(id, sealed)
	if !ok {
		return "", errSealed
	}
	return text, nil
}
