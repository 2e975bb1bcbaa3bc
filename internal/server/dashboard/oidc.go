package dashboard

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"standin/internal/account"
)

// OIDCSettings configure sign-in with an OpenID Connect provider.
type OIDCSettings struct {
	Issuer       string `env:"STANDIN_OIDC_ISSUER" placeholder:"https://…" help:"OpenID Connect provider for dashboard sign-in; the redirect URI is {base_url}/signin/oidc/callback. Default: none."`
	ClientID     string `env:"STANDIN_OIDC_CLIENT_ID" help:"OpenID Connect client ID."`
	ClientSecret string `env:"STANDIN_OIDC_CLIENT_SECRET" help:"OpenID Connect client secret. Prefer the environment variable."`
	TrustEmails  bool   `name:"trust-emails" env:"STANDIN_OIDC_TRUST_EMAILS" help:"Accept email addresses that the provider does not call verified, as Entra ID does not. Set it only if your organization alone chooses the addresses of its users."`
}

const (
	providerTimeout = 15 * time.Second
	oidcLifetime    = 10 * time.Minute // of a sign-in at the provider
)

// provider is an OpenID Connect provider. Its configuration is fetched at the
// first sign-in, so that the service starts without it.
type provider struct {
	OIDCSettings
	redirect string
	client   *http.Client

	mu    sync.Mutex
	found *oidc.Provider
}

// discover returns the configuration of the provider.
func (p *provider) discover(ctx context.Context) (*oidc.Provider, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.found != nil {
		return p.found, nil
	}
	// The provider keeps the client of the context beyond this request.
	found, err := oidc.NewProvider(oidc.ClientContext(context.WithoutCancel(ctx), p.client), p.Issuer)
	if err != nil {
		return nil, fmt.Errorf("discover the OpenID Connect provider: %w", err)
	}
	p.found = found
	return found, nil
}

func (p *provider) config(found *oidc.Provider) *oauth2.Config {
	return &oauth2.Config{
		ClientID: p.ClientID, ClientSecret: p.ClientSecret, Endpoint: found.Endpoint(),
		RedirectURL: p.redirect, Scopes: []string{oidc.ScopeOpenID, "email", "profile"},
	}
}

// oidcState is stored in a cookie during a sign-in at the provider. The callback
// must match it.
type oidcState struct {
	State    string `json:"state"`    // prevents forged callbacks
	Nonce    string `json:"nonce"`    // prevents tokens of another sign-in
	Verifier string `json:"verifier"` // prevents stolen codes (RFC 7636)
	Next     string `json:"next"`
}

const oidcCookie = "standin_oidc"

// startOIDC redirects the browser to the provider.
func (d *Dashboard) startOIDC(req *pageRequest) error {
	if d.oidc == nil {
		return errNoPage
	}
	found, err := d.oidc.discover(req.Context())
	if err != nil {
		req.Err = err
		return &pageError{http.StatusBadGateway, "The sign-in service is not available. Try again in a moment, or sign in with your password."}
	}
	state := oidcState{
		State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(), Next: nextPage(req.URL.Query().Get("next")),
	}
	req.setCookie(oidcCookie, d.sealState(oidcCookie, "", state), oidcLifetime)
	return req.redirect(d.oidc.config(found).AuthCodeURL(state.State, oidc.Nonce(state.Nonce), oauth2.S256ChallengeOption(state.Verifier)))
}

// finishOIDC starts a session for a user whom the provider authenticated.
func (d *Dashboard) finishOIDC(req *pageRequest) error {
	if d.oidc == nil {
		return errNoPage
	}
	var state oidcState
	if !req.takeState(oidcCookie, "", &state, &state.State) {
		return &pageError{http.StatusBadRequest, "This sign-in was not started in this browser, or it expired. Sign in again."}
	}
	query := req.URL.Query()
	if query.Get("error") != "" || query.Get("code") == "" {
		return &pageError{http.StatusUnauthorized, "The sign-in service rejected the sign-in."}
	}
	user, err := d.oidcUser(req, query.Get("code"), state)
	if errors.Is(err, account.ErrHasPassword) {
		return &pageError{
			http.StatusForbidden,
			"This account has a password. Sign in with it, then connect the sign-in of your organization on the page Team.",
		}
	}
	if errors.Is(err, account.ErrNotInvited) {
		return &pageError{
			http.StatusForbidden,
			"Your email address has no account or invitation here, or the sign-in service has not verified it. Ask a colleague who uses this service for an invitation.",
		}
	}
	if err != nil {
		req.d.Log.Warn("sign-in with OpenID Connect failed", "request_id", req.ID, "error", err)
		return &pageError{http.StatusUnauthorized, "The response of the sign-in service could not be verified. Sign in again."}
	}
	return req.open(user, nextPage(state.Next))
}

// sealState encrypts the state of a visit at a provider for a cookie, as takeState reads it.
// session is that of the user, or empty.
func (d *Dashboard) sealState(cookie, session string, state any) string {
	encoded, _ := json.Marshal(state) // texts always encode
	return d.Jobs.Sealer.Seal(cookie+" "+session, string(encoded))
}

// takeState reads the state of a visit at a provider from its cookie, which is valid for one callback. It
// reports whether this service has set it for the session, and the query has the secret of that visit.
func (req *pageRequest) takeState(cookie, session string, state any, secret *string) bool {
	kept, err := req.Cookie(req.d.cookieName(cookie))
	req.setCookie(cookie, "", 0)
	if err != nil {
		return false
	}
	opened, err := req.d.Jobs.Sealer.Open(cookie+" "+session, kept.Value)
	return err == nil && json.Unmarshal([]byte(opened), state) == nil && account.SameSecret(req.URL.Query().Get("state"), *secret)
}

// oidcUser exchanges the code for an ID token, verifies it, and returns the user whom the provider authenticated. It connects the identity
// to the user who is signed in already and has the same e-mail address.
func (d *Dashboard) oidcUser(req *pageRequest, code string, state oidcState) (user account.User, err error) {
	p := d.oidc
	found, err := p.discover(req.Context())
	if err != nil {
		return user, err
	}
	ctx := oidc.ClientContext(req.Context(), p.client)
	tokens, err := p.config(found).Exchange(ctx, code, oauth2.VerifierOption(state.Verifier))
	if err != nil {
		return user, fmt.Errorf("exchange the code: %w", err)
	}
	raw, ok := tokens.Extra("id_token").(string)
	if !ok {
		return user, errors.New("the provider sent no ID token")
	}
	token, err := found.Verifier(&oidc.Config{ClientID: p.ClientID}).Verify(ctx, raw)
	if err != nil {
		return user, fmt.Errorf("verify the ID token: %w", err)
	}
	if !account.SameSecret(token.Nonce, state.Nonce) {
		return user, errors.New("the ID token belongs to another sign-in")
	}
	var claims struct {
		Email    string   `json:"email"`
		Verified verified `json:"email_verified"`
		Name     string   `json:"name"`
	}
	if err := token.Claims(&claims); err != nil {
		return user, fmt.Errorf("read the ID token: %w", err)
	}
	identity := account.Identity{Issuer: token.Issuer, Subject: token.Subject}
	trusted := bool(claims.Verified) || p.TrustEmails
	user, err = d.Users.SignInOIDC(ctx, identity, claims.Email, trusted, claims.Name)
	if !errors.Is(err, account.ErrHasPassword) {
		return user, err
	}
	session, _, sessionErr := d.sessionOf(req.Request)
	if sessionErr != nil {
		return account.User{}, err
	}
	return d.Users.LinkOIDC(ctx, session.User, identity, claims.Email, trusted)
}

// verified is the claim email_verified: true, or the text "true", which some providers send.
type verified bool

// UnmarshalJSON implements json.Unmarshaler.
func (v *verified) UnmarshalJSON(encoded []byte) error {
	*v = string(encoded) == "true" || string(encoded) == `"true"`
	return nil
}
