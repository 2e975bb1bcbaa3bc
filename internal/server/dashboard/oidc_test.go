package dashboard_test

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"standin/internal/account"
	"standin/internal/server/dashboard"
	"standin/internal/server/httpmw"
	"standin/internal/server/service"
)

// provider is a small OpenID Connect provider that signs with a real key. The test
// sets the claims of its user.
type provider struct {
	*testing.T
	url string
	key *rsa.PrivateKey

	mu     sync.Mutex
	claims map[string]any              // of the next sign-in
	change func(claims map[string]any) // changes the claims of the token before it is signed
	sign   func(signed []byte) []byte  // changes the signature of the token
	codes  map[string]url.Values       // authorization requests, by code
}

// startProvider starts a provider that is closed when the test ends.
func startProvider(t *testing.T) *provider {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	p := &provider{T: t, key: key, codes: make(map[string]url.Values)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", p.discovery)
	mux.HandleFunc("GET /authorize", p.authorize)
	mux.HandleFunc("POST /token", p.token)
	mux.HandleFunc("GET /keys", p.keys)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	p.url = server.URL
	return p
}

func answerJSON(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value)
}

func (p *provider) discovery(w http.ResponseWriter, _ *http.Request) {
	answerJSON(w, map[string]any{
		"issuer": p.url, "authorization_endpoint": p.url + "/authorize", "token_endpoint": p.url + "/token", "jwks_uri": p.url + "/keys",
		"response_types_supported": []string{"code"}, "subject_types_supported": []string{"public"},
		"id_token_signing_alg_values_supported": []string{"RS256"},
	})
}

func (p *provider) keys(w http.ResponseWriter, _ *http.Request) {
	encode := base64.RawURLEncoding.EncodeToString
	answerJSON(w, map[string]any{"keys": []map[string]string{{
		"kty": "RSA", "alg": "RS256", "use": "sig", "kid": "one", "n": encode(p.key.N.Bytes()), "e": encode(big.NewInt(int64(p.key.E)).Bytes()),
	}}})
}

// authorize immediately redirects back with a code.
func (p *provider) authorize(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	for name, want := range map[string]string{
		"response_type": "code", "client_id": "standin", "code_challenge_method": "S256", "scope": "openid email profile",
	} {
		if query.Get(name) != want {
			p.Errorf("%s is %q, want %q", name, query.Get(name), want)
		}
	}
	code := rand.Text()
	p.mu.Lock()
	p.codes[code] = query
	p.mu.Unlock()
	http.Redirect(w, r, query.Get("redirect_uri")+"?code="+code+"&state="+url.QueryEscape(query.Get("state")), http.StatusFound)
}

// token exchanges a code for an ID token, once, and checks the verifier and the client
// secret.
func (p *provider) token(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	query, ok := p.codes[r.PostFormValue("code")]
	delete(p.codes, r.PostFormValue("code"))
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	id, secret, _ := r.BasicAuth()
	if !ok || base64.RawURLEncoding.EncodeToString(sum[:]) != query.Get("code_challenge") || id != "standin" || secret != "s3cret" {
		w.WriteHeader(http.StatusBadRequest)
		answerJSON(w, map[string]string{"error": "invalid_grant"})
		return
	}
	claims := map[string]any{
		"iss": p.url, "aud": "standin", "nonce": query.Get("nonce"), "iat": time.Now().Unix(), "exp": time.Now().Add(time.Minute).Unix(),
	}
	for name, value := range p.claims {
		claims[name] = value
	}
	if p.change != nil {
		p.change(claims)
	}
	answerJSON(w, map[string]any{"access_token": "x", "token_type": "Bearer", "id_token": p.signed(claims)})
}

// signed returns an ID token with the claims.
func (p *provider) signed(claims map[string]any) string {
	payload, err := json.Marshal(claims)
	if err != nil {
		p.Error(err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	text := encode([]byte(`{"alg":"RS256","kid":"one","typ":"JWT"}`)) + "." + encode(payload)
	sum := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(rand.Reader, p.key, crypto.SHA256, sum[:])
	if err != nil {
		p.Error(err)
	}
	if p.sign != nil {
		signature = p.sign(signature)
	}
	return text + "." + encode(signature)
}

// signIn signs in at the provider and returns the response to the callback.
func (p *provider) signIn(who *person) answered {
	p.Helper()
	back := p.callback(who)
	return who.get(strings.TrimPrefix(back, who.BaseURL()))
}

// callback signs in at the provider and returns the callback URL to which it redirects.
func (p *provider) callback(who *person) string {
	p.Helper()
	out := who.get("/signin/oidc?next=/keys")
	if out.status != http.StatusSeeOther || !strings.HasPrefix(out.header.Get("Location"), p.url+"/authorize?") {
		p.Fatalf("the sign-in redirects to %q: %d", out.header.Get("Location"), out.status)
	}
	answer, err := who.http.Get(out.header.Get("Location"))
	if err != nil {
		p.Fatal(err)
	}
	defer answer.Body.Close()
	return answer.Header.Get("Location")
}

// TestSignInWithOIDC checks that only invited people and connected users can sign in
// with a provider, and that forged, changed and used tokens and codes are refused.
func TestSignInWithOIDC(t *testing.T) {
	t.Parallel()
	p := startProvider(t)
	h := newHarness(t, func(s *service.Settings) {
		s.OIDC = dashboard.OIDCSettings{Issuer: p.url, ClientID: "standin", ClientSecret: "s3cret"}
		s.DashboardLimits.Address = httpmw.Rate{Requests: 1000, Per: time.Minute}
	})
	ada := h.ada()
	if _, err := h.users().InviteAs(t.Context(), ada, "grace@example.test", account.Admin, false); err != nil {
		t.Fatal(err)
	}
	as := func(subject, email string, verified any) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.claims = map[string]any{"sub": subject, "email": email, "email_verified": verified, "name": "Some <b>body</b>"}
		p.change, p.sign = nil, nil
	}
	if got := h.person().get("/signin"); !strings.Contains(got.body, "Sign in with your organization") {
		t.Error("the sign-in page has no link to the provider")
	}
	signsIn := func(name string, want bool) {
		t.Helper()
		who := h.person()
		got := p.signIn(who)
		in := got.status == http.StatusSeeOther && got.header.Get("Location") == "/keys" && who.get("/keys").status == http.StatusOK
		if in != want {
			t.Errorf("%s: signed in %v (%d: %s)", name, in, got.status, got.header.Get("Location"))
		}
	}
	as("sub-eve", "eve@example.test", true)
	signsIn("a person without an invitation", false)
	as("sub-ada", "ada@example.test", false)
	signsIn("an unverified e-mail address", false)
	as("sub-ada", "Ada@example.test", true)
	signsIn("a user with a password", false)
	linked := h.signedIn("ada@example.test")
	if page := linked.get("/account"); !strings.Contains(page.body, "Connect the sign-in of your organization") {
		t.Error("the account page does not offer to connect")
	}
	as("sub-ada", "eve@example.test", true)
	p.signIn(linked).want(t, "connect another e-mail address", http.StatusForbidden)
	as("sub-ada", "Ada@example.test", true)
	if got := p.signIn(linked); got.status != http.StatusSeeOther {
		t.Errorf("connect the signed-in user: %d: %s", got.status, got.body)
	}
	signsIn("a connected user", true)
	as("sub-ada", "", false)
	signsIn("a connected user without an e-mail address", true)
	as("sub-else", "ada@example.test", true)
	signsIn("another identity with the user's e-mail address", false)
	as("sub-grace", "grace@example.test", "true") // as a text, which some providers send
	signsIn("an invited person", true)

	for name, change := range map[string]func(map[string]any){
		"another client's token":   func(c map[string]any) { c["aud"] = "other" },
		"another provider's token": func(c map[string]any) { c["iss"] = "https://evil.test" },
		"an expired token":         func(c map[string]any) { c["exp"] = time.Now().Add(-time.Minute).Unix() },
		"another sign-in's nonce":  func(c map[string]any) { c["nonce"] = "other" },
		"no nonce":                 func(c map[string]any) { delete(c, "nonce") },
		"no subject":               func(c map[string]any) { delete(c, "sub") },
	} {
		as("sub-ada", "ada@example.test", true)
		p.change = change
		signsIn(name, false)
	}
	as("sub-ada", "ada@example.test", true)
	p.sign = func(signed []byte) []byte { signed[0] ^= 1; return signed }
	signsIn("a changed signature", false)

	as("sub-ada", "ada@example.test", true)
	one, other := h.person(), h.person()
	back := strings.TrimPrefix(p.callback(one), h.BaseURL())
	other.get(back).want(t, "callback in another browser", http.StatusBadRequest)
	p.callback(other)
	other.get(back).want(t, "callback in another browser with its own sign-in", http.StatusBadRequest)
	one.get(back).want(t, "callback in the same browser", http.StatusSeeOther)
	one.get(back).want(t, "second callback", http.StatusBadRequest)
	back = strings.TrimPrefix(p.callback(one), h.BaseURL())
	refused := one.get("/signin/oidc/callback?error=access_denied&state=" + url.QueryEscape(between(back, "state=")))
	if refused.status != http.StatusUnauthorized {
		t.Errorf("callback with an error: %d", refused.status)
	}
}

// TestTrustedEmails checks that an operator can accept the email addresses of a provider that does
// not say whether it has verified them.
func TestTrustedEmails(t *testing.T) {
	t.Parallel()
	for _, trusted := range []bool{false, true} {
		p := startProvider(t)
		p.claims = map[string]any{"sub": "sub-grace", "email": "grace@example.test", "name": "Grace"}
		h := newHarness(t, func(s *service.Settings) {
			s.OIDC = dashboard.OIDCSettings{Issuer: p.url, ClientID: "standin", ClientSecret: "s3cret", TrustEmails: trusted}
		})
		if _, err := h.users().InviteAs(t.Context(), h.ada(), "grace@example.test", account.Admin, false); err != nil {
			t.Fatal(err)
		}
		if got := p.signIn(h.person()); (got.status == http.StatusSeeOther) != trusted {
			t.Errorf("trusted %v: %d %s", trusted, got.status, got.body)
		}
	}
}

// between returns the unescaped text from mark to the next &.
func between(text, mark string) string {
	_, rest, _ := strings.Cut(text, mark)
	value, _, _ := strings.Cut(rest, "&")
	plain, err := url.QueryUnescape(value)
	if err != nil {
		return fmt.Sprint(err)
	}
	return plain
}

// TestProviderUnavailable checks that the service starts without its provider, that
// passwords work, and that the sign-in at the provider shows an error.
func TestProviderUnavailable(t *testing.T) {
	t.Parallel()
	h := newHarness(t, func(s *service.Settings) {
		s.OIDC = dashboard.OIDCSettings{Issuer: "http://127.0.0.1:1", ClientID: "standin"}
	})
	h.ada()
	h.signedIn("ada@example.test")
	h.person().get("/signin/oidc").want(t, "sign in at the provider", http.StatusBadGateway, "The sign-in service is not available")
}
