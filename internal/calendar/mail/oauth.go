package mail

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"
	"github.com/emersion/go-sasl"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/endpoints"

	"standin/internal/calendar/calendarapi"
)

// OAuthSettings configure the sign-in to the mailbox with OAuth 2.0.
type OAuthSettings struct {
	Provider     string          `env:"STANDIN_MAIL_IMAP_OAUTH" name:"imap-oauth" placeholder:"microsoft|google" help:"Sign in to the mailbox with OAuth 2.0, after standin mail login. Default: with the password."`
	ClientID     string          `env:"STANDIN_MAIL_IMAP_OAUTH_CLIENT_ID" name:"imap-oauth-client-id" help:"ID of the application that you registered with the OAuth provider. Its secret, if it has one, comes from the environment variable STANDIN_MAIL_IMAP_OAUTH_CLIENT_SECRET."`
	Tenant       string          `env:"STANDIN_MAIL_IMAP_OAUTH_TENANT" name:"imap-oauth-tenant" default:"organizations" help:"Domain or ID of the Microsoft 365 tenant of the mailbox."`
	Send         bool            `kong:"-"` // the permission is also for replies
	ClientSecret string          `kong:"-"` // empty for a public client
	Endpoint     oauth2.Endpoint `kong:"-"` // the provider's when zero; set by tests
}

// The OAuth 2.0 providers.
const (
	Microsoft = "microsoft"
	Google    = "google"
)

func (s OAuthSettings) check() error {
	switch {
	case s.Provider != Microsoft && s.Provider != Google:
		return fmt.Errorf("STANDIN_MAIL_IMAP_OAUTH must be microsoft or google; got %q", s.Provider)
	case s.ClientID == "":
		return errors.New("STANDIN_MAIL_IMAP_OAUTH_CLIENT_ID must be set: the ID of the application that you registered with the provider")
	}
	return nil
}

// config returns the application at the provider of a mail host, with the scopes that IMAP and SMTP
// need. The host says which of Microsoft's clouds it is in.
func (s OAuthSettings) config(host string) *oauth2.Config {
	c := &oauth2.Config{ClientID: s.ClientID, ClientSecret: s.ClientSecret, Endpoint: endpoints.Google}
	if s.Provider == Microsoft {
		cloud, outlook := "global", "https://outlook.office.com"
		switch strings.ToLower(host[strings.LastIndexByte(host, '.')+1:]) {
		case "us", "mil":
			cloud, outlook = "usgov", "https://outlook.office365.us"
		case "cn":
			cloud, outlook = "china", "https://partner.outlook.cn"
		}
		c.Endpoint = calendarapi.MicrosoftEndpoint(calendarapi.MicrosoftClouds[cloud].Login, s.Tenant)
		c.Scopes = []string{outlook + "/IMAP.AccessAsUser.All", "offline_access"}
		if s.Send {
			c.Scopes = append(c.Scopes, outlook+"/SMTP.Send")
		}
	} else {
		c.Scopes = []string{"https://mail.google.com/"}
	}
	if s.Endpoint.TokenURL != "" {
		c.Endpoint = s.Endpoint
	}
	return c
}

// withClient returns a context whose OAuth requests end after requestTime.
func withClient(ctx context.Context) context.Context {
	return context.WithValue(ctx, oauth2.HTTPClient, &http.Client{Timeout: requestTime})
}

// Login asks the user to let workers read the mailbox, and stores the permission. show shows the user what to do.
func (s *Store) Login(ctx context.Context, settings IMAPSettings, show func(instruction string)) error {
	if err := settings.check(); err != nil {
		return err
	}
	if settings.URL == nil || settings.OAuth.Provider == "" {
		return errors.New("STANDIN_MAIL_IMAP_URL and STANDIN_MAIL_IMAP_OAUTH must be set: the mailbox, and microsoft or google")
	}
	ctx = withClient(ctx)
	config := settings.OAuth.config(settings.URL.Hostname())
	var token *oauth2.Token
	var err error
	if settings.OAuth.Provider == Google {
		token, err = requestByBrowser(ctx, config, show)
	} else { // with a code that the user enters in a browser on any device (RFC 8628)
		device, deviceErr := config.DeviceAuth(ctx)
		if deviceErr != nil {
			return fmt.Errorf("start the sign-in: %w", deviceErr)
		}
		show(fmt.Sprintf("Open %s in a browser, sign in as the user of the mailbox, and enter the code %s", device.VerificationURI,
			device.UserCode))
		if token, err = config.DeviceAccessToken(ctx, device); err != nil {
			err = fmt.Errorf("finish the sign-in: %w", err)
		}
	}
	if err != nil {
		return err
	}
	if token.RefreshToken == "" {
		return errors.New("the provider granted no lasting access: it sent no refresh token")
	}
	return s.saveToken(ctx, settings.name(), token.RefreshToken)
}

// requestByBrowser requests a token with a browser on this machine (RFC 8252). Google
// does not permit mail scopes to devices.
func requestByBrowser(ctx context.Context, config *oauth2.Config, show func(string)) (*oauth2.Token, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("wait for the browser: %w", err)
	}
	config.RedirectURL = "http://" + listener.Addr().String()
	state, verifier := oauth2.GenerateVerifier(), oauth2.GenerateVerifier()
	answers := make(chan url.Values, 1)
	server := &http.Server{ReadHeaderTimeout: requestTime, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		if query.Get("state") != state {
			http.Error(w, "This is not the answer that standin mail login waits for.", http.StatusBadRequest)
			return
		}
		select {
		case answers <- query:
		default: // the page was loaded again
		}
		fmt.Fprintln(w, "You can close this page and return to the terminal.")
	})}
	served := make(chan struct{})
	go func() { defer close(served); _ = server.Serve(listener) }() // ends when the server is closed
	defer func() {
		_ = server.Shutdown(ctx)
		<-served
	}()
	show("Open this page in a browser on this machine, and sign in as the user of the mailbox:\n" +
		config.AuthCodeURL(state, oauth2.AccessTypeOffline, oauth2.ApprovalForce, oauth2.S256ChallengeOption(verifier)))
	select {
	case answer := <-answers:
		if answer.Get("code") == "" {
			return nil, fmt.Errorf("the provider refused access: %s", printable(answer.Get("error"), maxSubject))
		}
		token, err := config.Exchange(ctx, answer.Get("code"), oauth2.VerifierOption(verifier))
		if err != nil {
			return nil, fmt.Errorf("finish the sign-in: %w", err)
		}
		return token, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// signIn signs in to the mailbox.
func (w *Worker) signIn(ctx context.Context, client *imapclient.Client) error {
	user, advice := w.IMAP.URL.User.Username(), "check the user in STANDIN_MAIL_IMAP_URL and STANDIN_MAIL_IMAP_PASSWORD"
	var err error
	if w.IMAP.OAuth.Provider == "" {
		err = client.Login(user, w.IMAP.Password).Wait()
	} else {
		advice = "run standin mail login"
		var token string
		if token, err = w.accessToken(ctx); err == nil {
			err = client.Authenticate(bearer(client.Caps().Has(imap.AuthCap(sasl.OAuthBearer)), user, token))
		}
	}
	if err == nil {
		return nil
	}
	refused, byHost := errors.AsType[*imap.Error](err)
	denied, byProvider := errors.AsType[*oauth2.RetrieveError](err)
	_, byBearer := errors.AsType[*sasl.OAuthBearerError](err)
	switch {
	case byHost && refused.Type == imap.StatusResponseTypeNo && refused.Code != imap.ResponseCodeUnavailable,
		byProvider && denied.ErrorCode != "", byBearer, errors.Is(err, errNoToken):
		return &signInError{fmt.Errorf("sign in: %w", err), advice}
	}
	return fmt.Errorf("sign in: %w", err)
}

// signInError is the error of a mail host or provider that refuses the user.
type signInError struct {
	error
	advice string
}

// accessToken returns a new access token for the mailbox. The provider may replace the
// refresh token, so only one is requested at a time.
func (w *Worker) accessToken(ctx context.Context) (string, error) {
	w.signingIn.Lock()
	defer w.signingIn.Unlock()
	ctx = withClient(ctx)
	mailbox, sealed := w.IMAP, ""
	_, err := get(ctx, w.Store.Reader, []any{&sealed}, `SELECT refresh_token FROM mailboxes WHERE name = $1`, mailbox.name())
	if err == nil && sealed == "" {
		err = errNoToken
	}
	if err != nil {
		return "", err
	}
	refresh, err := w.Sealer.Open(mailbox.name(), sealed)
	if err != nil {
		return "", err
	}
	token, err := mailbox.OAuth.config(mailbox.URL.Hostname()).TokenSource(ctx, &oauth2.Token{RefreshToken: refresh}).Token()
	if err != nil {
		return "", fmt.Errorf("get an access token: %w", err)
	}
	if token.RefreshToken != refresh {
		err = w.store.saveToken(ctx, mailbox.name(), token.RefreshToken)
	}
	return token.AccessToken, err
}

// bearer returns the mechanism for an access token: OAUTHBEARER (RFC 7628) if the mail
// host has it, or XOAUTH2, which came before it.
func bearer(hasBearer bool, user, token string) sasl.Client {
	if hasBearer {
		return sasl.NewOAuthBearerClient(&sasl.OAuthBearerOptions{Username: user, Token: token})
	}
	return xoauth2{user, token}
}

// xoauth2 is the mechanism XOAUTH2 of Google and Microsoft.
type xoauth2 struct{ user, token string }

// Start implements sasl.Client.
func (x xoauth2) Start() (mech string, ir []byte, err error) {
	return "XOAUTH2", []byte("user=" + x.user + "\x01auth=Bearer " + x.token + "\x01\x01"), nil
}

// Next implements sasl.Client. The challenge describes an error, and the mail host
// refuses the user after the empty response.
func (x xoauth2) Next([]byte) ([]byte, error) { return []byte{}, nil }
