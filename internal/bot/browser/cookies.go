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

// Cookie is one cookie of a signed-in visitor. Its value, which is as good as a
// password, shows in no text made of it.
type Cookie struct {
	Name string
	// Domain is the host, without a leading dot.
	Domain string
	// HostOnly keeps the cookie from the hosts below the domain.
	HostOnly bool
	Path     string
	// Expires is zero for a cookie that lasts as long as the browser.
	Expires          time.Time
	Secure, HTTPOnly bool
	// SameSite is Strict, Lax, None, or empty for the browser's default.
	SameSite string

	value string
}

// String names the cookie.
func (c Cookie) String() string { return c.Name + " of " + c.Domain }

// GoString names the cookie.
func (c Cookie) GoString() string { return c.String() }

// LogValue names the cookie.
func (c Cookie) LogValue() slog.Value { return slog.StringValue(c.String()) }

// param is the cookie as the browser wants it.
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
	// Only an address makes a cookie of one host; a domain covers all below it.
	address := url.URL{Scheme: "http", Host: c.Domain, Path: c.Path}
	if c.Secure {
		address.Scheme = "https"
	}
	param.URL = address.String()
	return param
}

// RefusedCookiesError says which cookies the browser did not take. All others
// are set.
type RefusedCookiesError struct {
	Cookies []Cookie
}

// Error names a few of them.
func (e *RefusedCookiesError) Error() string {
	const named = 5
	names := make([]string, 0, named)
	for _, cookie := range e.Cookies[:min(len(e.Cookies), named)] {
		names = append(names, cookie.String())
	}
	return fmt.Sprintf("the browser refuses %d cookies, among them %s", len(e.Cookies), strings.Join(names, ", "))
}

// SetCookies gives the browser the cookies of a signed-in visitor. An export of
// a whole browser can hold some that another version does not take: those are
// named in a *RefusedCookiesError, and the rest is set.
func (b *Browser) SetCookies(ctx context.Context, cookies []Cookie) error {
	var refused []Cookie
	for _, cookie := range cookies {
		_, err := cdp.Call(ctx, b.session, storage.SetCookies, storage.SetCookiesParams{
			Cookies: []*network.CookieParam{cookie.param()},
		})
		var notTaken *cdproto.Error
		switch {
		case errors.As(err, &notTaken): // what it says may repeat the cookie
			refused = append(refused, cookie)
		case err != nil:
			return fmt.Errorf("setting cookies: %w", b.explain(ctx, err))
		}
	}
	if len(refused) > 0 {
		return &RefusedCookiesError{Cookies: refused}
	}
	return nil
}
