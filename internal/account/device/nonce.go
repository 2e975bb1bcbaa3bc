package device

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
)

// nonceBytes is the length of a nonce: 256 bits (contract, Accounts).
const nonceBytes = 32

// newNonce makes a nonce. The system's generator does not fail (crypto/rand
// ends the program if it ever does).
func newNonce() string {
	random := make([]byte, nonceBytes)
	_, _ = rand.Read(random)
	return base64.RawURLEncoding.EncodeToString(random)
}

// plausible reports whether a text could be a nonce at all, so that garbage
// does not reach the database.
func plausible(nonce string) bool {
	return len(nonce) == base64.RawURLEncoding.EncodedLen(nonceBytes)
}

// hash is the form in which a nonce is kept and looked up. It has 256 random
// bits, so a plain SHA-256 needs no salt, and looking it up by its hash tells
// nothing of it through time.
func hash(nonce string) string {
	sum := sha256.Sum256([]byte(nonce))
	return hex.EncodeToString(sum[:])
}

// codeLetters make no words and none is taken for another (RFC 8628, section
// 6.1).
const codeLetters = "BCDFGHJKLMNPQRSTVWXZ"

// codePurpose keeps the code apart from other uses of the nonce's hash.
const codePurpose = "standin device code\n"

// Code is a short code for a nonce, as WDJB-MJHT. The command line and the
// page show it so that the user sees whether they mean the same flow; it
// opens nothing. Any text has one.
func Code(nonce string) string {
	sum := sha256.Sum256([]byte(codePurpose + nonce))
	number := binary.BigEndian.Uint64(sum[:])
	var code []byte
	for place := range 8 {
		if place == 4 {
			code = append(code, '-')
		}
		code = append(code, codeLetters[number%uint64(len(codeLetters))])
		number /= uint64(len(codeLetters))
	}
	return string(code)
}
