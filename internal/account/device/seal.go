package device

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"strings"

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
	sealer, err := account.NewSealer([]byte(nonce), sealPurpose)
	if err != nil {
		return "", err
	}
	return sealer.Seal("", given.email+separator+given.apiKey), nil
}

// open is the inverse of seal.
func open(nonce, sealed string) (given credentials, err error) {
	sealer, err := account.NewSealer([]byte(nonce), sealPurpose)
	if err != nil {
		return given, err
	}
	plain, ok := sealer.Open("", sealed)
	if given.email, given.apiKey, _ = strings.Cut(plain, separator); !ok {
		return credentials{}, errSealed
	}
	return given, nil
}

// separator is in no mail address.
const separator = "\x00"
