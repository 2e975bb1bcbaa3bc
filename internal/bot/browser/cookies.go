package browser

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/storage"
)

// Cookie is a cookie of a signed-in user. Its value is a credential: no text
// representation of a Cookie contains it.
type Cookie struct {
	Name string
	// Domain is the host, without a leading dot.
	Domain string
	// HostOnly excludes subdomains of the domain.
	HostOnly bool
	Path     string
	// Expires is zero for a session cookie.
	Expires          time.Time
	Secure, HTTPOnly bool
	// SameSite is Strict, Lax, None, or empty for the browser's default.
	SameSite string

	value string
}

// String returns the name and the domain.
func (c Cookie) String() string { return c.Name + " of " + c.Domain }

// GoString returns the name and the domain.
func (c Cookie) GoString() string { return c.String() }

// LogValue returns the name and the domain.
func (c Cookie) LogValue() slog.Value { return slog.StringValue(c.String()) }

// param returns the cookie in the form of the DevTools protocol.
func (c Cookie) param() *network.CookieParam {
	param := &network.CookieParam{
		Name: c.Name, Value: c.value, Path: c.Path, Secure: c.Secure, HTTPOnly: c.HTTPOnly,
		SameSite: network.CookieSameSite(c.SameSite),
	}
	if !c.Expires.IsZero() {
		param.Expires = cdp.TimeSinceEpoch(float64(c.Expires.UnixMilli()) / 1000)
	}
	if !c.HostOnly {
		param.Domain = "." + c.Domain
		return param
	}
	// A cookie is host-only if it is set by URL; with a domain it applies to
	// subdomains too.
	address := url.URL{Scheme: "http", Host: c.Domain, Path: c.Path}
	if c.Secure {
		address.Scheme = "https"
	}
	param.URL = address.String()
	return param
}

// RefusedCookiesError lists the cookies that the browser refused. All others are
// set.
type RefusedCookiesError struct {
	Cookies []Cookie
}

// Error names up to five of them.
func (e *RefusedCookiesError) Error() string {
	const maxNamed = 5
	names := make([]string, 0, maxNamed)
	for _, cookie := range e.Cookies[:min(len(e.Cookies), maxNamed)] {
		names = append(names, cookie.String())
	}
	return fmt.Sprintf("the browser refused %d cookies, including %s", len(e.Cookies), strings.Join(names, ", "))
}

// SetCookies sets the cookies of a signed-in user. An export of a whole browser
// can contain cookies that another version refuses: these are returned in a
// *RefusedCookiesError, and the others are set.
func (b *Browser) SetCookies(ctx context.Context, cookies []Cookie) error {
	var refused []Cookie
	for _, cookie := range cookies {
		_, err := cdp.Call(ctx, b.session, storage.SetCookies, storage.SetCookiesParams{
			Cookies: []*network.CookieParam{cookie.param()},
		})
		switch {
		case errors.As(err, new(*cdproto.Error)): // its text may contain the cookie
			refused = append(refused, cookie)
		case err != nil:
			return fmt.Errorf("set cookies: %w", b.explain(ctx, err))
		}
	}
	if len(refused) > 0 {
		return &RefusedCookiesError{Cookies: refused}
	}
	return nil
}
