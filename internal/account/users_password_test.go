package account

import (
	"strings"
	"testing"
)

// TestPasswordHash checks that a hash contains its parameters, matches only its
// password, and differs from another hash of the same password.
func TestPasswordHash(t *testing.T) {
	t.Parallel()
	one, other := hashPassword("a password", randomBytes(argonSalt)), hashPassword("a password", randomBytes(argonSalt))
	if one == other || !strings.HasPrefix(one, "$argon2id$v=19$m=19456,t=2,p=1$") {
		t.Errorf("hashes %s and %s", one, other)
	}
	for password, want := range map[string]bool{"a password": true, "A password": false, "": false, "a password\x00": false} {
		if same, err := passwordMatches(password, one); err != nil || same != want {
			t.Errorf("%q: %v, %v", password, same, err)
		}
	}
	if same, err := passwordMatches("", dummyHash); err != nil || same {
		t.Errorf("the dummy hash matches the empty password: %v, %v", same, err)
	}
	for _, broken := range []string{
		"", "x", "$argon2i$v=19$m=19456,t=2,p=1$AAAA$AAAA", "$argon2id$v=18$m=1,t=1,p=1$AAAA$AAAA", "$argon2id$v=19$m=8,t=0,p=1$AAAA$AAAA",
		"$argon2id$v=19$m=8,t=1,p=1$AAAA$",
	} {
		if same, err := passwordMatches("a password", broken); err == nil || same {
			t.Errorf("%q was accepted as a hash", broken)
		}
	}
}

// TestFormToken checks that a form token matches only its session's secret.
func TestFormToken(t *testing.T) {
	t.Parallel()
	if !FormTokenMatches(FormToken("one"), "one") || FormTokenMatches(FormToken("one"), "other") || FormTokenMatches("", "one") {
		t.Error("wrong tokens match")
	}
}
