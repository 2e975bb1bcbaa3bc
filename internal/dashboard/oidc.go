package dashboard

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
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

// OIDCSettings name an OpenID Connect provider that users may sign in at.
type OIDCSettings struct {
	Issuer       string // its address; nobody signs in elsewhere when empty
	ClientID     string
	ClientSecret string // may be empty for a public client: there is PKCE
}

// Bounds of talking to the provider.
const (
	providerTime = 15 * time.Second
	oidcLife     = 10 * time.Minute // that somebody may take to sign in there
)

// provider is an OpenID Connect provider. What it publishes is fetched when
// somebody first signs in, so that the service starts without it.
type provider struct {
	settings OIDCSettings
	redirect string
	client   *http.Client

	mu    sync.Mutex
	found *oidc.Provider
}

// newProvider returns the provider of the settings, nil when they name none.
func newProvider(settings OIDCSettings, baseURL string) (*provider, error) {
	if settings == (OIDCSettings{}) {
		return nil, nil
	}
	if settings.Issuer == "" || settings.ClientID == "" {
		return nil, errors.New("signing in by OpenID Connect needs both STANDIN_OIDC_ISSUER and STANDIN_OIDC_CLIENT_ID")
	}
	return &provider{settings: settings, redirect: baseURL + "/signin/oidc/callback", client: &http.Client{Timeout: providerTime}}, nil
}

// discover returns what the provider publishes, which is kept.
func (p *provider) discover(ctx context.Context) (*oidc.Provider, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.found != nil {
		return p.found, nil
	}
	// The provider keeps the client of the context, not its end.
	found, err := oidc.NewProvider(oidc.ClientContext(context.WithoutCancel(ctx), p.client), p.settings.Issuer)
	if err != nil {
		return nil, fmt.Errorf("read what the OpenID Connect provider publishes: %w", err)
	}
	p.found = found
	return found, nil
}

func (p *provider) config(found *oidc.Provider) *oauth2.Config {
	return &oauth2.Config{
		ClientID: p.settings.ClientID, ClientSecret: p.settings.ClientSecret, Endpoint: found.Endpoint(),
		RedirectURL: p.redirect, Scopes: []string{oidc.ScopeOpenID, "email", "profile"},
	}
}

// trip is what a browser carries along while its user signs in elsewhere: what
// comes back must fit to it.
type trip struct {
	State    string `json:"state"`    // against a forged return
	Nonce    string `json:"nonce"`    // against a token of another sign-in
	Verifier string `json:"verifier"` // against a stolen code (RFC 7636)
	Next     string `json:"next"`
}

const tripCookie = "standin_oidc"

// signInElsewhere sends the browser to the provider.
func (d *Dashboard) signInElsewhere(x *exchange) error {
	if d.elsewhere == nil {
		return notFound("There is no such page.")
	}
	if err := d.throttle(x.r); err != nil {
		return err
	}
	found, err := d.elsewhere.discover(x.r.Context())
	if err != nil {
		x.err = err
		return &pageError{http.StatusBadGateway, "The sign-in service does not answer. Try again in a moment, or sign in with your password."}
	}
	out := trip{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(), Next: nextPage(x.r.URL.Query().Get("next"))}
	carried, err := json.Marshal(out)
	if err != nil {
		return fmt.Errorf("encode a sign-in: %w", err)
	}
	x.setCookie(tripCookie, base64.RawURLEncoding.EncodeToString(carried), oidcLife)
	return x.redirect(d.elsewhere.config(found).AuthCodeURL(out.State, oidc.Nonce(out.Nonce), oauth2.S256ChallengeOption(out.Verifier)))
}

// comeBack begins a session for somebody whom the provider vouches for.
func (d *Dashboard) comeBack(x *exchange) error {
	if d.elsewhere == nil {
		return notFound("There is no such page.")
	}
	if err := d.throttle(x.r); err != nil {
		return err
	}
	out, ok := d.tripOf(x.r)
	x.setCookie(tripCookie, "", 0) // good for one return
	query := x.r.URL.Query()
	if !ok || subtle.ConstantTimeCompare([]byte(query.Get("state")), []byte(out.State)) != 1 {
		return &pageError{http.StatusBadRequest, "This sign-in was not begun in this browser, or too long ago. Please begin again."}
	}
	if query.Get("error") != "" || query.Get("code") == "" {
		return &pageError{http.StatusUnauthorized, "The sign-in service did not let you in."}
	}
	user, err := d.elsewhere.user(x.r.Context(), d.settings.Users, query.Get("code"), out)
	if errors.Is(err, account.ErrNotInvited) {
		return &pageError{http.StatusForbidden, "The sign-in service knows you, but nobody has invited your e-mail address here, or it is not verified there. Ask a colleague who uses this service for an invitation."}
	}
	if err != nil {
		x.d.settings.Log.Warn("a sign-in by OpenID Connect failed", "request_id", x.id, "error", err)
		return &pageError{http.StatusUnauthorized, "What the sign-in service said could not be verified. Please begin again."}
	}
	return x.open(user, nextPage(out.Next))
}

// tripOf reads what the browser carried along.
func (d *Dashboard) tripOf(r *http.Request) (trip, bool) {
	var out trip
	cookie, err := r.Cookie(d.cookieName(tripCookie))
	if err != nil {
		return out, false
	}
	carried, err := base64.RawURLEncoding.DecodeString(cookie.Value)
	if err != nil || json.Unmarshal(carried, &out) != nil {
		return out, false
	}
	return out, out.State != "" && out.Nonce != "" && out.Verifier != ""
}

// user exchanges the code for a token, verifies it, and finds its user.
func (p *provider) user(ctx context.Context, users *account.Users, code string, out trip) (account.User, error) {
	found, err := p.discover(ctx)
	if err != nil {
		return account.User{}, err
	}
	ctx = oidc.ClientContext(ctx, p.client)
	tokens, err := p.config(found).Exchange(ctx, code, oauth2.VerifierOption(out.Verifier))
	if err != nil {
		return account.User{}, fmt.Errorf("exchange the code: %w", err)
	}
	raw, ok := tokens.Extra("id_token").(string)
	if !ok {
		return account.User{}, errors.New("the provider sent no ID token")
	}
	token, err := found.Verifier(&oidc.Config{ClientID: p.settings.ClientID}).Verify(ctx, raw)
	if err != nil {
		return account.User{}, fmt.Errorf("verify the ID token: %w", err)
	}
	if subtle.ConstantTimeCompare([]byte(token.Nonce), []byte(out.Nonce)) != 1 {
		return account.User{}, errors.New("the ID token is of another sign-in")
	}
	var claims struct {
		Email    string `json:"email"`
		Verified bool   `json:"email_verified"`
		Name     string `json:"name"`
	}
	if err := token.Claims(&claims); err != nil {
		return account.User{}, fmt.Errorf("read the ID token: %w", err)
	}
	identity := account.Identity{Issuer: token.Issuer, Subject: token.Subject}
	return users.SignInOIDC(ctx, identity, claims.Email, claims.Verified, claims.Name)
}
