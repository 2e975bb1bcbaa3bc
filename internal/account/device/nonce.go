package device

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
)

// nonceBytes is the length of a nonce: 256 bits.
const nonceBytes = 32

// newNonce returns a random nonce. crypto/rand never returns an error.
func newNonce() string {
	random := make([]byte, nonceBytes)
	_, _ = rand.Read(random)
	return base64.RawURLEncoding.EncodeToString(random)
}

// plausible reports whether a text has the form of a nonce. Others never reach
// the database.
func plausible(nonce string) bool {
	return len(nonce) == base64.RawURLEncoding.EncodedLen(nonceBytes)
}

// hash returns the hash by which a nonce is stored and found. A nonce has 256
// random bits, so SHA-256 needs no salt, and finding it by its hash leaks
// nothing through timing.
func hash(nonce string) string {
	sum := sha256.Sum256([]byte(nonce))
	return hex.EncodeToString(sum[:])
}

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
