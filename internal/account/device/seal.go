package device

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"

	"standin/internal/account"
)

// codeLetters form no words and are not confused with each other (RFC 8628,
// section 6.1).
const codeLetters = "BCDFGHJKLMNPQRSTVWXZ"

// codePurpose separates the code from other hashes of the nonce.
const codePurpose = "standin device code\n"

// Code returns a short code for a nonce, such as WDJB-MJHT. The command line and
// the page show it so that the user can compare them. It grants no access.
func Code(nonce string) string {
	sum := sha256.Sum256([]byte(codePurpose + nonce))
	number := binary.BigEndian.Uint64(sum[:])
	var code []byte
	for position := range 8 {
		if position == 4 {
			code = append(code, '-')
		}
		code = append(code, codeLetters[number%uint64(len(codeLetters))])
		number /= uint64(len(codeLetters))
	}
	return string(code)
}

// sealPurpose is the HKDF info (RFC 5869). The stored hash, a plain SHA-256 of the
// nonce, reveals nothing about the derived key.
const sealPurpose = "standin device flow credentials v1"

// credentials are the content of a completed flow.
type credentials struct{ apiKey, email string }

// errSealed is the error for credentials that do not belong to the nonce or were
// modified.
var errSealed = errors.New("the stored credentials cannot be decrypted")

// seal encrypts credentials with the nonce.
func seal(nonce string, given credentials) (string, error) {
	aead, err := account.NewAEAD([]byte(nonce), sealPurpose)
	if err != nil {
		return "", err
	}
	plain := binary.AppendUvarint(nil, uint64(len(given.apiKey)))
	plain = append(plain, given.apiKey...)
	plain = append(plain, given.email...)
	return base64.RawStdEncoding.EncodeToString(aead.Seal(nil, nil, plain, nil)), nil
}

// open is the inverse of seal.
func open(nonce, sealed string) (credentials, error) {
	aead, err := account.NewAEAD([]byte(nonce), sealPurpose)
	if err != nil {
		return credentials{}, err
	}
	encrypted, err := base64.RawStdEncoding.DecodeString(sealed)
	if err != nil {
		return credentials{}, errSealed
	}
	plain, err := aead.Open(nil, nil, encrypted, nil)
	if err != nil {
		return credentials{}, errSealed
	}
	length, n := binary.Uvarint(plain)
	if n <= 0 || length > uint64(len(plain)-n) {
		return credentials{}, errSealed
	}
	key, email := plain[n:n+int(length)], plain[n+int(length):] // #nosec G115 -- not longer than plain
	return credentials{apiKey: string(key), email: string(email)}, nil
}
