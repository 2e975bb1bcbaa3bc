package dashboard

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"standin/internal/account"
	"standin/internal/jobs/job"
	"standin/internal/server/httpmw"
)

// cookieName returns the name of a cookie. Over https its prefix binds the cookie to this host.
func (d *Dashboard) cookieName(name string) string {
	if d.base.Scheme == "https" {
		return "__Host-" + name
	}
	return name
}

// setCookie sets a cookie that scripts and other sites cannot use. It is Lax and
// not Strict, because the link of standin login is opened from outside.
func (req *pageRequest) setCookie(name, value string, life time.Duration) {
	cookie := &http.Cookie{
		Name: req.d.cookieName(name), Value: value, Path: "/", HttpOnly: true,
		Secure: req.d.base.Scheme == "https", SameSite: http.SameSiteLaxMode, MaxAge: int(life.Seconds()),
	}
	if life <= 0 {
		cookie.MaxAge = -1
	}
	http.SetCookie(req, cookie)
}

// forUser serves signed-in users with a role and redirects others to the sign-in page, which
// leads back. Requests that change something need the token of the form too.
func (d *Dashboard) forUser(needed account.Role, handle handler) handler {
	return func(req *pageRequest) error {
		session, secret, err := d.sessionOf(req.Request)
		if job.ErrorIs(err, job.Unauthorized) {
			if req.Method != http.MethodGet || strings.HasSuffix(req.URL.Path, "/live") {
				return &pageError{http.StatusUnauthorized, "You are signed out. Sign in and try again."}
			}
			return req.redirect("/signin?next=" + url.QueryEscape(req.URL.RequestURI()))
		}
		if err != nil {
			return err
		}
		req.Session, req.secret = session, secret
		req.UserID, req.ConsumerID, req.Caller = session.User.ID, session.User.ConsumerID, session.User.ConsumerID.String()
		if !session.User.Role.Allows(needed) {
			return &pageError{
				http.StatusForbidden,
				fmt.Sprintf("Your role is %s. This needs the role %s, which an admin of your team can give you.", session.User.Role, needed),
			}
		}
		if !isRead(req.Method) {
			if err := req.parseForm(maxForm); err != nil {
				return err
			}
			if !account.FormTokenMatches(req.PostForm.Get("token"), secret) {
				return &pageError{http.StatusForbidden, "This form belongs to another session, so nothing was done. Reload the page and try again."}
			}
		}
		req.chooseMode()
		err = handle(req)
		if err == nil {
			d.audit(req)
		}
		return err
	}
}

// isRead reports whether requests with a method change nothing.
func isRead(method string) bool { return method == http.MethodGet || method == http.MethodHead }

// modeLifetime is how long a browser remembers the mode that its user chose.
const modeLifetime = 365 * 24 * time.Hour

// chooseMode makes live or test mode the one of all pages if the query names it, and otherwise
// completes the query with the mode that was chosen before.
func (req *pageRequest) chooseMode() {
	query := req.URL.Query()
	cookie, err := req.Cookie(req.d.cookieName("standin_mode"))
	switch {
	case query.Has("mode"):
		if chosen := string(modeOf(query)); err != nil || cookie.Value != chosen {
			req.setCookie("standin_mode", chosen, modeLifetime)
		}
	case err == nil && cookie.Value == string(job.Test):
		query.Set("mode", cookie.Value)
		req.URL.RawQuery = query.Encode()
	}
}

// sessionOf returns the session of a request, and its secret.
func (d *Dashboard) sessionOf(r *http.Request) (account.Session, string, error) {
	cookie, err := r.Cookie(d.cookieName("standin_session"))
	if err != nil {
		return account.Session{}, "", job.NewError(job.Unauthorized, "not signed in")
	}
	session, err := d.Users.Session(r.Context(), cookie.Value)
	return session, cookie.Value, err
}

// nextPage returns the page to show after sign-in, which is always on this
// service.
func nextPage(given string) string {
	parsed, err := url.Parse(given)
	if err != nil || parsed.Scheme != "" || parsed.Host != "" || parsed.Opaque != "" ||
		!strings.HasPrefix(given, "/") || strings.HasPrefix(given, "//") || strings.ContainsAny(given, "\\\r\n\t") {
		return "/"
	}
	return given
}

// signInForm is the data of the sign-in page.
type signInForm struct {
	Next, Email, Problem string
	OIDC                 bool
	NoUsers              bool // nobody can sign in yet
}

func (d *Dashboard) signInPage(req *pageRequest) error {
	next := nextPage(req.URL.Query().Get("next"))
	if _, _, err := d.sessionOf(req.Request); err == nil {
		return req.redirect(next)
	}
	exist, err := d.Users.Store.HasUsers(req.Context())
	if err != nil {
		return err
	}
	return req.show("signin", "Sign in", signInForm{Next: next, OIDC: d.oidc != nil, NoUsers: !exist})
}

// throttle limits the sign-ins of each client address, and logs the address.
func (d *Dashboard) throttle(req *pageRequest) error {
	address := d.TrustedProxies.ClientAddress(req.Request)
	req.Client = address.String()
	return d.byAddress.Allow(httpmw.AddressKey(address))
}

// throttled serves requests unless there were too many sign-ins.
func (d *Dashboard) throttled(handle handler) handler {
	return func(req *pageRequest) error {
		if err := d.throttle(req); err != nil {
			return err
		}
		return handle(req)
	}
}

// signIn starts a session for an email address and its password. Attempts are
// limited before the password is checked.
func (d *Dashboard) signIn(req *pageRequest) error {
	if err := req.parseForm(maxPublicForm); err != nil {
		return err
	}
	form := signInForm{Next: nextPage(req.PostForm.Get("next")), Email: req.PostForm.Get("email"), OIDC: d.oidc != nil}
	err := d.throttle(req)
	if err == nil { // other addresses can still sign in to the account
		err = d.byAccount.Allow(httpmw.AddressKey(d.TrustedProxies.ClientAddress(req.Request)) + " " +
			strings.ToLower(strings.TrimSpace(form.Email)))
	}
	var user account.User
	if err == nil {
		user, err = d.Users.SignIn(req.Context(), form.Email, req.PostForm.Get("password"))
	}
	if errors.Is(err, account.ErrBadCredentials) { // of all addresses; a correct password is accepted nevertheless
		err = cmp.Or(d.failures.Allow("all"), err)
	}
	switch _, limited := errors.AsType[*httpmw.LimitedError](err); {
	case err == nil:
		return req.open(user, form.Next)
	case limited:
		status, problem := req.describe(err)
		req.Err, form.Problem = err, problem
		return req.showStatus(status, "signin", "Sign in", form)
	case errors.Is(err, account.ErrBadCredentials):
		req.Err, form.Problem = err, "Wrong email address or password."
		return req.showStatus(http.StatusUnauthorized, "signin", "Sign in", form)
	}
	return err
}

// open starts a session and redirects to a page.
func (req *pageRequest) open(user account.User, next string) error {
	secret, session, err := req.d.Users.Open(req.Context(), user)
	if err != nil {
		return err
	}
	req.setCookie("standin_session", secret, account.SessionLifetime)
	req.Session, req.secret = session, secret
	req.UserID, req.ConsumerID = user.ID, user.ConsumerID
	req.d.record(req, user, "signed in", "")
	return req.redirect(next)
}

// signInWithLink signs in with a link of SignInLink. Who is signed in already keeps the session.
func (d *Dashboard) signInWithLink(req *pageRequest) error {
	query := req.URL.Query()
	next := nextPage(query.Get("next"))
	if _, _, err := d.sessionOf(req.Request); err == nil {
		return req.redirect(next)
	}
	user, err := d.Users.SignInWithToken(query.Get("token"))
	if errors.Is(err, account.ErrBadCredentials) {
		return notFound("This link is invalid, was already used, or has expired.")
	}
	if err != nil {
		return err
	}
	return req.open(user, next)
}

func (d *Dashboard) signOut(req *pageRequest) error {
	if err := d.Users.End(req.Context(), req.Session); err != nil {
		return err
	}
	req.setCookie("standin_session", "", 0)
	return req.redirect("/signin?note=signed-out")
}

// invitationForm is the data of the page of an invitation.
type invitationForm struct {
	Token, Problem string
	Invitation     account.Invitation
	NewUser        account.NewUser
	Teams          []string // that the first user can choose
	MinPassword    int
	OIDC           bool
}

// maxTeams is the number of teams that the first user can choose.
const maxTeams = 20

func (d *Dashboard) invitationPage(req *pageRequest) error {
	return d.showInvitation(req, http.StatusOK, invitationForm{Token: req.URL.Query().Get("token")})
}

func (d *Dashboard) showInvitation(req *pageRequest, status int, form invitationForm) (err error) {
	if form.Invitation, err = d.Users.Invitation(req.Context(), form.Token); err != nil {
		return expiredLink(err)
	}
	form.MinPassword, form.OIDC = account.MinPassword, d.oidc != nil
	if form.Invitation.First() {
		teams, err := d.Jobs.Store.Consumers(req.Context())
		if err != nil {
			return err
		}
		for _, team := range teams[:min(len(teams), maxTeams)] {
			form.Teams = append(form.Teams, team.Name)
		}
	} else {
		form.NewUser.Email = form.Invitation.Email
	}
	return req.showStatus(status, "welcome", "Welcome", form)
}

// expiredLink returns the error for an invitation that does not exist any more.
func expiredLink(err error) error {
	if job.ErrorIs(err, job.NotFound) {
		return notFound("This link is invalid, was already used, or has expired. Sign in, or ask for a new link. Until there is a user, standin serve prints a link when it starts.")
	}
	return err
}

// acceptInvitation creates the user and signs in.
func (d *Dashboard) acceptInvitation(req *pageRequest) error {
	if err := req.parseForm(maxPublicForm); err != nil {
		return err
	}
	values := req.PostForm
	token := values.Get("invitation")
	newUser := account.NewUser{
		Name: values.Get("name"), Password: values.Get("password"), Email: values.Get("email"),
		Consumer: cmp.Or(values.Get("team"), values.Get("consumer")),
	}
	user, err := d.Users.Accept(req.Context(), token, newUser)
	if status, problem, ok := req.correct(err); ok {
		req.Err, newUser.Password = err, ""
		return d.showInvitation(req, status, invitationForm{Token: token, Problem: problem, NewUser: newUser})
	}
	if err != nil {
		return expiredLink(err)
	}
	return req.open(user, "/")
}
