package dashboard

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"standin/internal/account"
	"standin/internal/httpapi/ratelimit"
	"standin/internal/job"
)

// sessionCookie is the name of the cookie that holds a session's secret. Over
// https the prefix has browsers keep it from every other host and path.
func (d *Dashboard) sessionCookie() string { return d.cookieName("standin_session") }

func (d *Dashboard) cookieName(name string) string {
	if d.base.Scheme == "https" {
		return "__Host-" + name
	}
	return name
}

// setCookie sets a cookie that no script reads and no other site sends along.
// Lax, not Strict: the link of standin login is opened from elsewhere.
func (x *exchange) setCookie(name, value string, life time.Duration) {
	cookie := &http.Cookie{
		Name: x.d.cookieName(name), Value: value, Path: "/", HttpOnly: true,
		Secure: x.d.base.Scheme == "https", SameSite: http.SameSiteLaxMode, MaxAge: int(life.Seconds()),
	}
	if life <= 0 {
		cookie.MaxAge = -1
	}
	http.SetCookie(x, cookie)
}

// forUser serves those who are signed in; a page that somebody else asks for
// is the sign-in page, which leads back to it. What changes anything needs the
// form's token as well.
func (d *Dashboard) forUser(handle userHandler) handler {
	return func(x *exchange) error {
		session, secret, err := d.sessionOf(x.r)
		if job.ErrorIs(err, job.Unauthorized) {
			if x.r.Method != http.MethodGet || strings.HasSuffix(x.r.URL.Path, "/live") {
				return &pageError{http.StatusUnauthorized, "You are not signed in any more. Sign in and try again."}
			}
			return x.redirect("/signin?next=" + url.QueryEscape(x.r.URL.RequestURI()))
		}
		if err != nil {
			return err
		}
		x.session, x.secret = session, secret
		if x.r.Method != http.MethodGet && x.r.Method != http.MethodHead {
			if err := x.r.ParseForm(); err != nil {
				return unreadableForm(err)
			}
			if !account.FormTokenMatches(x.r.PostForm.Get("token"), secret) {
				return &pageError{http.StatusForbidden, "This form is not from this session, so nothing was done. Go back, load the page again, and send it once more."}
			}
		}
		return handle(x, session)
	}
}

func unreadableForm(err error) error {
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return err
	}
	return &pageError{http.StatusBadRequest, "The form is unreadable."}
}

// forOperator serves operators, and hides from others that there is anything.
func forOperator(handle userHandler) userHandler {
	return func(x *exchange, session account.Session) error {
		if !session.User.Operator {
			return notFound("There is no such page.")
		}
		return handle(x, session)
	}
}

// sessionOf returns the session of a request's cookie.
func (d *Dashboard) sessionOf(r *http.Request) (account.Session, string, error) {
	cookie, err := r.Cookie(d.sessionCookie())
	if err != nil {
		return account.Session{}, "", &job.Error{Code: job.Unauthorized, Message: "not signed in"}
	}
	session, err := d.settings.Users.Session(r.Context(), cookie.Value)
	return session, cookie.Value, err
}

// nextPage is where to go after signing in: a path of this service, whatever
// the address says.
func nextPage(given string) string {
	parsed, err := url.Parse(given)
	if err != nil || parsed.Scheme != "" || parsed.Host != "" || parsed.Opaque != "" ||
		!strings.HasPrefix(given, "/") || strings.HasPrefix(given, "//") || strings.ContainsAny(given, "\\\r\n\t") {
		return "/jobs"
	}
	return given
}

// signInForm is what the sign-in page shows.
type signInForm struct {
	Next, Email, Problem string
	Elsewhere            bool
}

func (d *Dashboard) signInPage(x *exchange) error {
	next := nextPage(x.r.URL.Query().Get("next"))
	if _, _, err := d.sessionOf(x.r); err == nil {
		return x.redirect(next)
	}
	return x.show("signin", "Sign in", signInForm{Next: next, Elsewhere: d.elsewhere != nil})
}

// throttle lets each client address sign in so often.
func (d *Dashboard) throttle(r *http.Request) error {
	if ok, wait := d.byAddress.Allow(ratelimit.AddressKey(d.settings.Proxies.Address(r))); !ok {
		return &limitedError{wait}
	}
	return nil
}

// signIn begins a session for whoever knows an e-mail and its password. Tries
// are counted by address and by e-mail before anything is looked up.
func (d *Dashboard) signIn(x *exchange) error {
	if err := x.r.ParseForm(); err != nil {
		return unreadableForm(err)
	}
	form := signInForm{Next: nextPage(x.r.PostForm.Get("next")), Email: x.r.PostForm.Get("email"), Elsewhere: d.elsewhere != nil}
	err := d.throttle(x.r)
	if err == nil {
		if ok, wait := d.byAccount.Allow(strings.ToLower(strings.TrimSpace(form.Email))); !ok {
			err = &limitedError{wait}
		}
	}
	var user account.User
	if err == nil {
		user, err = d.settings.Users.SignIn(x.r.Context(), form.Email, x.r.PostForm.Get("password"))
	}
	switch limited := (*limitedError)(nil); {
	case err == nil:
		return x.open(user, form.Next)
	case errors.As(err, &limited):
		status, problem := x.told(err)
		x.err, form.Problem = err, problem
		return x.showStatus(status, "signin", "Sign in", form)
	case errors.Is(err, account.ErrBadCredentials):
		x.err, form.Problem = err, "The e-mail address or the password is wrong."
		return x.showStatus(http.StatusUnauthorized, "signin", "Sign in", form)
	}
	return err
}

// open begins a session and goes on to a page.
func (x *exchange) open(user account.User, next string) error {
	secret, session, err := x.d.settings.Users.Open(x.r.Context(), user)
	if err != nil {
		return err
	}
	x.setCookie("standin_session", secret, account.SessionLifetime)
	x.session, x.secret = session, secret
	return x.redirect(next)
}

func (d *Dashboard) signOut(x *exchange, session account.Session) error {
	if err := d.settings.Users.End(x.r.Context(), session); err != nil {
		return err
	}
	x.setCookie("standin_session", "", 0)
	return x.redirect("/signin?note=signed-out")
}

// welcome is what the page of an invitation shows.
type welcome struct {
	Token, Problem string
	Invitation     account.Invitation
	Wish           account.NewUser
	MinPassword    int
	Elsewhere      bool
}

func (d *Dashboard) invitationPage(x *exchange) error {
	if err := d.throttle(x.r); err != nil {
		return err
	}
	token := x.r.URL.Query().Get("token")
	invitation, err := d.settings.Users.Invitation(x.r.Context(), token)
	if err != nil {
		return staleLink(err)
	}
	return x.show("welcome", "Welcome", d.welcome(token, invitation))
}

func (d *Dashboard) welcome(token string, invitation account.Invitation) welcome {
	shown := welcome{Token: token, Invitation: invitation, MinPassword: account.MinPassword, Elsewhere: d.elsewhere != nil}
	shown.Wish.Email = invitation.Email
	return shown
}

// staleLink tells what to do about a link that is used up.
func staleLink(err error) error {
	if job.ErrorIs(err, job.NotFound) {
		return notFound("This link was used, is too old, or never was one. Sign in, or ask for another link: whoever runs the service gets a first one each time that standin serve starts and there is no user yet.")
	}
	return err
}

// acceptInvitation makes the user and signs in.
func (d *Dashboard) acceptInvitation(x *exchange) error {
	if err := d.throttle(x.r); err != nil {
		return err
	}
	if err := x.r.ParseForm(); err != nil {
		return unreadableForm(err)
	}
	form := x.r.PostForm
	token := form.Get("invitation")
	wish := account.NewUser{Name: form.Get("name"), Password: form.Get("password"), Email: form.Get("email"), Consumer: form.Get("consumer")}
	user, err := d.settings.Users.Accept(x.r.Context(), token, wish)
	if job.ErrorIs(err, job.InvalidInput) {
		invitation, findErr := d.settings.Users.Invitation(x.r.Context(), token)
		if findErr != nil {
			return staleLink(findErr)
		}
		shown := d.welcome(token, invitation)
		status, problem := x.told(err)
		x.err, wish.Password = err, ""
		shown.Problem, shown.Wish = problem, wish
		if !invitation.First() {
			shown.Wish.Email = invitation.Email
		}
		return x.showStatus(status, "welcome", "Welcome", shown)
	}
	if err != nil {
		return staleLink(fmt.Errorf("accept an invitation: %w", err))
	}
	return x.open(user, "/jobs")
}
