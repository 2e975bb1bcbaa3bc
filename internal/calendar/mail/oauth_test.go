package mail

import (
	"github.com/google/uuid"

	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"golang.org/x/oauth2"

	"standin/internal/testing/await"
	"standin/internal/testing/logtail"
	"standin/internal/testing/mailhost"
)

// authorizer is an OAuth 2.0 provider that replaces refresh tokens when they are used.
type authorizer struct {
	*httptest.Server
	mu      sync.Mutex
	grants  int    // tokens that were issued
	refresh string // the valid one
	polls   int
}

func newAuthorizer(t *testing.T) *authorizer {
	t.Helper()
	a := &authorizer{}
	a.Server = httptest.NewServer(http.HandlerFunc(a.answer))
	t.Cleanup(a.Close)
	return a
}

// answer answers requests for device codes and tokens (RFC 6749, RFC 8628).
func (a *authorizer) answer(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	refuse := func(code string) {
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(map[string]string{"error": code})
	}
	if r.FormValue("client_id") != "standin" {
		refuse("invalid_client")
		return
	}
	if r.URL.Path == "/device" {
		_ = json.NewEncoder(w).Encode(map[string]any{
			"device_code": "d", "user_code": "ABCD", "verification_uri": "https://login.example.test/device", "expires_in": 60, "interval": 1,
		})
		return
	}
	switch r.FormValue("grant_type") {
	case "urn:ietf:params:oauth:grant-type:device_code":
		if a.polls++; a.polls == 1 {
			refuse("authorization_pending")
			return
		}
	case "authorization_code":
		if r.FormValue("code") != "granted" || r.FormValue("code_verifier") == "" {
			refuse("invalid_grant")
			return
		}
	default:
		if r.FormValue("refresh_token") != a.refresh {
			refuse("invalid_grant")
			return
		}
	}
	a.grants++
	a.refresh = fmt.Sprint("refresh-", a.grants)
	_ = json.NewEncoder(w).Encode(map[string]any{
		"token_type": "Bearer", "access_token": fmt.Sprint("access-", a.grants), "refresh_token": a.refresh, "expires_in": 3600,
	})
}

// accepts reports whether an access token is the newest one.
func (a *authorizer) accepts(user, token string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return user == "notes" && token == fmt.Sprint("access-", a.grants)
}

// revoke makes the refresh token invalid.
func (a *authorizer) revoke() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.refresh = "none"
}

// settings returns the settings of a worker that reads a mailbox with OAuth.
func (a *authorizer) settings(host *mailhost.IMAP, provider string) IMAPSettings {
	s := imapSettings(host, 50*time.Millisecond)
	s.Password = ""
	s.OAuth = OAuthSettings{
		Provider: provider, ClientID: "standin",
		Endpoint: oauth2.Endpoint{
			AuthURL: a.URL + "/authorize", DeviceAuthURL: a.URL + "/device", TokenURL: a.URL + "/token", AuthStyle: oauth2.AuthStyleInParams,
		},
	}
	return s
}

// TestOAuth signs in as the user of a mailbox does, with both providers, and reads the
// mailbox with both mechanisms, also after the connection was lost, when the refresh
// token has changed. It checks what the log says without permission.
func TestOAuth(t *testing.T) {
	t.Parallel()
	for provider, mechanism := range map[string]string{Microsoft: "XOAUTH2", Google: sasl.OAuthBearer} {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			host, provides := mailhost.NewIMAP(t, "secret"), newAuthorizer(t)
			host.Mechanism, host.Accepts = mechanism, provides.accepts
			host.Restart(t)
			settings := provides.settings(host, provider)
			var log logtail.Buffer
			h := newHarness(t, func(s *Settings) {
				s.IMAP, s.Now, s.Log = settings, time.Now, slog.New(slog.NewTextHandler(&log, nil))
				s.Policy.AuthservIDs = []string{"mx.example.test"}
			})
			h.start(t)
			await.Until(t, "the log says what to do", func() bool {
				return strings.Contains(log.String(), "the mailbox cannot be read: run standin mail login")
			})
			visited := make(chan error, 1)
			err := h.store.Login(t.Context(), settings, func(instruction string) { visited <- visit(t.Context(), instruction) })
			if err != nil {
				t.Fatal(err)
			}
			if err := <-visited; err != nil {
				t.Fatal(err)
			}
			h.awaitOpened(t, host)
			var sealed string
			if ok, err := get(t.Context(), h.store.DB.Reader, []any{&sealed}, `SELECT refresh_token FROM mailboxes`); !ok || err != nil ||
				sealed == "" || strings.Contains(sealed, "refresh-") {
				t.Errorf("the database has the permission as %q, %v", sealed, err)
			}
			raw := append([]byte("Authentication-Results: mx.example.test; spf=pass smtp.mailfrom=ada@example.test\r\n"),
				sample(t, "google-single")...)
			var last uuid.UUID
			for range 2 {
				host.Deliver(t, raw, time.Now())
				raw = append(raw, '\n')
				last = h.awaitRecord(t, func(r Record) bool { return r.ID != last }).ID
				await.Until(t, "the messages are seen", func() bool {
					seen := host.Seen(t)
					return seen[len(seen)-1]
				})
				host.Restart(t)
			}
			provides.revoke()
			before := len(log.String())
			host.Restart(t)
			await.Until(t, "the log says that access was revoked", func() bool {
				return strings.Contains(log.String()[before:], "run standin mail login")
			})
			if strings.Contains(log.String(), "access-") || strings.Contains(log.String(), "refresh-") {
				t.Errorf("the log has a token: %s", log.String())
			}
		})
	}
}

// TestClouds checks where users of the clouds of Microsoft sign in, and for what.
func TestClouds(t *testing.T) {
	t.Parallel()
	for host, want := range map[string][2]string{
		"outlook.office365.com": {"https://login.microsoftonline.com/example.com/oauth2/v2.0/devicecode", "https://outlook.office.com/SMTP.Send"},
		"outlook.office365.us":  {"https://login.microsoftonline.us/example.com/oauth2/v2.0/devicecode", "https://outlook.office365.us/SMTP.Send"},
		"webmail.apps.mil":      {"https://login.microsoftonline.us/example.com/oauth2/v2.0/devicecode", "https://outlook.office365.us/SMTP.Send"},
		"partner.outlook.cn":    {"https://login.chinacloudapi.cn/example.com/oauth2/v2.0/devicecode", "https://partner.outlook.cn/SMTP.Send"},
	} {
		c := OAuthSettings{Provider: Microsoft, Tenant: "example.com", Send: true}.config(host)
		if got := [2]string{c.Endpoint.DeviceAuthURL, c.Scopes[2]}; got != want {
			t.Errorf("%s: %v, want %v", host, got, want)
		}
	}
}

// TestOAuthReplies sends replies with the permission of the mailbox, and with both
// mechanisms.
func TestOAuthReplies(t *testing.T) {
	t.Parallel()
	for _, mechanism := range []string{"XOAUTH2", sasl.OAuthBearer} {
		t.Run(mechanism, func(t *testing.T) {
			t.Parallel()
			mailbox, provides, host := mailhost.NewIMAP(t, "secret"), newAuthorizer(t), mailhost.NewSMTP(t, "secret")
			host.Mechanism, host.Accepts, provides.refresh = mechanism, provides.accepts, "refresh-0"
			settings := provides.settings(mailbox, Microsoft)
			h := newHarness(t, func(s *Settings) {
				s.IMAP = settings
				s.Reply = replySettings(host, "notes@bots.example.test")
				s.Reply.OAuth, s.Reply.Password = true, ""
			})
			if err := h.store.saveToken(t.Context(), settings.name(), "refresh-0"); err != nil {
				t.Fatal(err)
			}
			h.process(t, sample(t, "google-zone"))
			if _, text := lastReply(t, host); !strings.Contains(text, "Scheduled: Jour fixe") {
				t.Errorf("the reply is %q", text)
			}
		})
	}
}

// visit does what the user does with an instruction.
func visit(ctx context.Context, instruction string) error {
	if strings.HasSuffix(instruction, "enter the code ABCD") {
		return nil
	}
	_, address, _ := strings.Cut(instruction, "\n")
	asked, err := url.Parse(address)
	if err != nil {
		return err
	}
	query := asked.Query()
	for _, state := range []string{"forged", query.Get("state")} {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, query.Get("redirect_uri")+"/?code=granted&state="+url.QueryEscape(state),
			nil)
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		text, err := io.ReadAll(response.Body)
		if err := response.Body.Close(); err != nil {
			return err
		}
		if want := map[bool]int{true: http.StatusOK, false: http.StatusBadRequest}[state != "forged"]; err != nil || response.StatusCode != want {
			return fmt.Errorf("%s: %d %s, %w", state, response.StatusCode, text, err)
		}
	}
	return nil
}
