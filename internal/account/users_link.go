package account

import (
	"sync"
	"time"
)

// SignInLinkLifetime is how long the token of a sign-in link works.
const SignInLinkLifetime = time.Hour

// signInLinks are the users that can sign in with a token. They end with the process.
type signInLinks struct {
	mu     sync.Mutex
	byHash map[string]signInLink
}

type signInLink struct {
	user      User
	expiresAt time.Time
}

// SignInToken returns a token with which a user can sign in once, within SignInLinkLifetime and
// while this process runs.
func (u *Users) SignInToken(user User) string {
	token := NewToken()
	u.links.mu.Lock()
	defer u.links.mu.Unlock()
	if u.links.byHash == nil {
		u.links.byHash = make(map[string]signInLink)
	}
	u.links.byHash[Hash(token)] = signInLink{user, u.settings.Now().Add(SignInLinkLifetime)}
	return token
}

// SignInWithToken returns the user of a token of SignInToken, or ErrBadCredentials. The token does
// not work again.
func (u *Users) SignInWithToken(token string) (User, error) {
	u.links.mu.Lock()
	defer u.links.mu.Unlock()
	hash := Hash(token)
	link, ok := u.links.byHash[hash]
	delete(u.links.byHash, hash)
	if !ok || u.settings.Now().After(link.expiresAt) {
		return User{}, ErrBadCredentials
	}
	return link.user, nil
}
