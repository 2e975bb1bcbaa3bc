package mailhost

import (
	"strings"

	"github.com/emersion/go-sasl"
)

// User is the only user of a host.
const User = "notes"

// SignIn says how the user signs in.
type SignIn struct {
	Password  string
	Mechanism string                        // of OAuth: XOAUTH2 or OAUTHBEARER; empty for the password
	Accepts   func(user, token string) bool // whether an access token of OAuth is valid
}

// server returns the server of a mechanism, which calls done when the user has signed in and
// fails with refused otherwise.
func (s SignIn) server(mechanism string, refused error, done func() error) sasl.Server {
	check := func(ok bool) error {
		if !ok {
			return refused
		}
		return done()
	}
	switch mechanism {
	case "XOAUTH2":
		return &xoauth2Server{signIn: func(user, token string) error { return check(s.Accepts(user, token)) }}
	case sasl.OAuthBearer:
		return sasl.NewOAuthBearerServer(func(o sasl.OAuthBearerOptions) *sasl.OAuthBearerError {
			if check(s.Accepts(o.Username, o.Token)) != nil {
				return &sasl.OAuthBearerError{Status: "invalid_token"}
			}
			return nil
		})
	}
	return sasl.NewPlainServer(func(_, user, password string) error { return check(user == User && password == s.Password) })
}

// xoauth2Server is the server of XOAUTH2.
type xoauth2Server struct {
	signIn func(user, token string) error
	failed error
}

// Next implements sasl.Server.
func (x *xoauth2Server) Next(response []byte) (challenge []byte, done bool, err error) {
	if x.failed != nil || response == nil {
		return nil, false, x.failed
	}
	var user, token string
	for field := range strings.SplitSeq(string(response), "\x01") {
		name, value, _ := strings.Cut(field, "=")
		switch name {
		case "user":
			user = value
		case "auth":
			token = strings.TrimPrefix(value, "Bearer ")
		}
	}
	x.failed = x.signIn(user, token)
	if x.failed == nil {
		return nil, true, nil
	}
	return []byte(`{"status":"400"}`), false, nil
}
