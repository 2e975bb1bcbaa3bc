package dashboard_test

import (
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"golang.org/x/crypto/argon2"

	"standin/internal/account"
	"standin/internal/server/service"
	"standin/internal/testing/storetest"
)

func TestMain(m *testing.M) {
	code := m.Run()
	shared.Close()
	os.Exit(code)
}

// harness is a running service with a dashboard, at first without users.
type harness struct {
	*testing.T
	*service.Service
	dir string // its data directory
}

// password is the password of all users.
const password = "correct horse battery staple"

// newHarness starts a service that is closed when the test ends.
func newHarness(t *testing.T, change ...func(*service.Settings)) *harness {
	t.Helper()
	settings := service.Settings{
		Listen: "127.0.0.1:0", DataSettings: service.DataSettings{
			DataDir: storetest.FreshDataDir(t),
		}, LauncherSettings: service.LauncherSettings{Launcher: "manual"}, KeySettings: service.KeySettings{IngestSigningKey: "key"},
		Log: slog.New(slog.DiscardHandler),
	}
	for _, one := range change {
		one(&settings)
	}
	s, err := service.Start(t.Context(), settings)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close the service: %v", err)
		}
	})
	return &harness{T: t, Service: s, dir: settings.DataDir}
}

// firstLink returns the URL of the page that creates the first user.
func (h *harness) firstLink() string {
	h.Helper()
	link, ok, err := h.FirstUserLink(h.Context())
	if err != nil || !ok {
		h.Fatalf("get the link for the first user: %v, %v", ok, err)
	}
	return link
}

// users returns an account.Users that creates users without pages.
func (h *harness) users() *account.Users {
	return account.NewUsers(account.UserSettings{Store: h.Store(), Now: time.Now})
}

// passwordHash is the hash of password with parameters that cost as little as possible.
var passwordHash = sync.OnceValue(func() string {
	encode := base64.RawStdEncoding.EncodeToString
	salt := []byte("a salt of 16 byt")
	return fmt.Sprintf("$argon2id$v=%d$m=8,t=1,p=1$%s$%s", argon2.Version, encode(salt),
		encode(argon2.IDKey([]byte(password), salt, 1, 8, 1, 32)))
})

// accept creates the user of an invitation, whose password costs less to check than that of
// account.Users.Accept.
func (h *harness) accept(token string, user account.User) account.User {
	h.Helper()
	invitation, err := h.users().Invitation(h.Context(), token)
	if err != nil {
		h.Fatal(err)
	}
	if !invitation.First() {
		user.ConsumerID, user.Consumer, user.Email = invitation.ConsumerID, invitation.Consumer, invitation.Email
	}
	user.ID, user.PasswordHash, user.CreatedAt = uuid.Must(uuid.NewV7()), passwordHash(), time.Now()
	user.Role, user.Operator = invitation.Role, invitation.Operator
	if err := h.Store().AcceptInvitation(h.Context(), invitation.Hash, user, time.Now()); err != nil {
		h.Fatal(err)
	}
	return user
}

// firstUser creates the first user, an operator of a consumer.
func (h *harness) firstUser(name, consumer string) account.User {
	h.Helper()
	token, ok, err := h.users().FirstUserToken(h.Context())
	if err != nil || !ok {
		h.Fatalf("get the token for the first user: %v, %v", ok, err)
	}
	owner, err := h.Store().EnsureConsumer(h.Context(), account.NewConsumer(consumer, "", "", time.Now()))
	if err != nil {
		h.Fatal(err)
	}
	return h.accept(token, account.User{Name: name, Email: "ada@example.test", ConsumerID: owner.ID, Consumer: owner.Name})
}

// ada creates the first user, an operator of the consumer "crew".
func (h *harness) ada() account.User { h.Helper(); return h.firstUser("Ada Lovelace", "crew") }

// otherUser creates a user of another consumer who is not an operator.
func (h *harness) otherUser() account.User {
	h.Helper()
	consumer, err := h.Store().EnsureConsumer(h.Context(), account.NewConsumer("others", "", "", time.Now()))
	if err != nil {
		h.Fatal(err)
	}
	token, err := h.users().InviteAs(h.Context(), account.User{ConsumerID: consumer.ID}, "bob@example.test", account.Admin, false)
	if err != nil {
		h.Fatal(err)
	}
	return h.accept(token, account.User{Name: "Bob"})
}

// withRole creates a user of the consumer "crew" with a role.
func (f populatedHarness) withRole(email string, role account.Role) {
	f.Helper()
	token, err := f.users().InviteAs(f.Context(), f.ada, email, role, false)
	if err != nil {
		f.Fatal(err)
	}
	f.accept(token, account.User{Name: string(role)})
}

// person is an HTTP client with cookies, like a browser without scripts.
type person struct {
	*harness
	http   *http.Client
	header http.Header // additional headers of requests
}

// person returns a client that is not signed in.
func (h *harness) person() *person {
	h.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		h.Fatal(err)
	}
	return &person{harness: h, http: &http.Client{Jar: jar, Timeout: time.Minute, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}}
}

// signedIn returns a client that is signed in.
func (h *harness) signedIn(email string) *person {
	h.Helper()
	p := h.person()
	if got := p.post("/signin", url.Values{"email": {email}, "password": {password}}); got.status != http.StatusSeeOther {
		h.Fatalf("sign in as %s: %d: %s", email, got.status, got.body)
	}
	return p
}

// answered is a response.
type answered struct {
	status int
	header http.Header
	body   string
}

// want checks the status of a response, and texts in its body.
func (a answered) want(t *testing.T, name string, status int, texts ...string) {
	t.Helper()
	missing := slices.DeleteFunc(texts, func(text string) bool { return strings.Contains(a.body, text) })
	if a.status != status || len(missing) > 0 {
		t.Errorf("%s: status %d, want %d, without %q: %s", name, a.status, status, missing, a.body)
	}
}

func (p *person) get(path string) answered { p.Helper(); return p.send(http.MethodGet, path, nil) }

func (p *person) post(path string, form url.Values) answered {
	p.Helper()
	return p.send(http.MethodPost, path, form)
}

func (p *person) send(method, path string, form url.Values) answered {
	p.Helper()
	contentType := ""
	if form != nil {
		contentType = "application/x-www-form-urlencoded"
	}
	return p.sendAs(contentType, method, path, form.Encode())
}

func (p *person) sendAs(contentType, method, path, body string) answered {
	p.Helper()
	request, err := http.NewRequestWithContext(p.Context(), method, p.BaseURL()+path, strings.NewReader(body))
	if err != nil {
		p.Fatal(err)
	}
	request.Header.Set("Content-Type", contentType)
	for name, values := range p.header {
		request.Header[name] = values
	}
	response, err := p.http.Do(request)
	if err != nil {
		p.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		p.Fatal(err)
	}
	return answered{response.StatusCode, response.Header, string(content)}
}

// submit posts a form with the form token of a page.
func (p *person) submit(page, path string, form url.Values) answered {
	p.Helper()
	if form == nil {
		form = url.Values{}
	}
	form.Set("token", p.token(page))
	return p.post(path, form)
}

var tokenField = regexp.MustCompile(`name="token" value="([0-9a-f]{64})"`)

// token returns the form token of a page.
func (p *person) token(page string) string {
	p.Helper()
	got := p.get(page)
	found := tokenField.FindStringSubmatch(got.body)
	if found == nil {
		p.Fatalf("%s (%d) has no form token", page, got.status)
	}
	return found[1]
}
