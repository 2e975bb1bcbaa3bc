package calendarsync

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"standin/internal/base/dialguard"
	"standin/internal/base/retry"
	"standin/internal/calendar"
	"standin/internal/calendar/calendarapi"
)

const (
	feedTime     = 30 * time.Second // of one request
	dialTime     = 10 * time.Second
	maxRedirects = 5
	maxAddress   = 2048
)

// unreadable says why a calendar cannot be read, for people.
func unreadable(reason string) error { return &calendarapi.Error{Reason: reason} }

// feeds reads calendars that are published at an address.
type feeds struct{ client *http.Client }

// newFeeds returns a reader that dials through a guard, also after redirects.
func newFeeds(network dialguard.Network) *feeds {
	return &feeds{&http.Client{
		Transport: network.Transport(dialTime), Timeout: feedTime,
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			switch {
			case len(via) > maxRedirects:
				return unreadable("the server redirects too often")
			case r.URL.Scheme != "https" && via[0].URL.Scheme == "https":
				return unreadable("the server redirects to an address without encryption")
			}
			r.Header.Del("Referer") // it would tell the secret address to another server
			return nil
		},
	}}
}

// ParseAddress returns the address of a feed in its usual form, and without what is
// secret. The error is a sentence.
func ParseAddress(text string) (address, masked string, err error) {
	text = strings.TrimSpace(text)
	parsed, err := url.Parse(text)
	if err != nil || len(text) > maxAddress || !slices.Contains([]string{"http", "https", webcal, "webcals"}, parsed.Scheme) ||
		parsed.Hostname() == "" {
		return "", "", errors.New("the address must be an https, http or webcal URL with a host")
	}
	if parsed.Scheme == "webcals" {
		parsed.Scheme = "https"
	}
	parsed.Fragment = ""
	return parsed.String(), parsed.Scheme + "://" + parsed.Host + "/…", nil
}

// webcal is the scheme of addresses that leave open whether the connection is encrypted.
const webcal = "webcal"

// read reads a feed. It reports false if nothing has changed since the validators. The
// error is a *calendarapi.Error, unless ctx has ended.
func (f *feeds) read(ctx context.Context, address string, known Validators) (body []byte, read Validators, changed bool, err error) {
	rest, open := strings.CutPrefix(address, webcal+":")
	if !open {
		return f.get(ctx, address, known)
	}
	body, read, changed, err = f.get(ctx, "https:"+rest, known)
	if failed, ok := errors.AsType[*calendarapi.Error](err); ok && failed.Unreachable {
		return f.get(ctx, "http:"+rest, known)
	}
	return body, read, changed, err
}

// get reads a feed at an https or http URL.
func (f *feeds) get(ctx context.Context, address string, known Validators) (body []byte, read Validators, changed bool, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, read, false, unreadable("the address is not a URL")
	}
	request.Header.Set("User-Agent", "Standin")
	request.Header.Set("Accept", "text/calendar, */*;q=0.1")
	if known.ETag != "" {
		request.Header.Set("If-None-Match", known.ETag)
	}
	if known.LastModified != "" {
		request.Header.Set("If-Modified-Since", known.LastModified)
	}
	response, err := f.client.Do(request)
	if err != nil {
		return nil, read, false, connectError(ctx, err)
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusNotModified && known != (Validators{}) {
		return nil, known, false, nil
	}
	if response.StatusCode != http.StatusOK {
		return nil, read, false, statusError(response)
	}
	body, err = io.ReadAll(io.LimitReader(response.Body, calendar.MaxFeed+1))
	if err != nil {
		return nil, read, false, connectError(ctx, err)
	}
	if len(body) > calendar.MaxFeed {
		return nil, read, false, unreadable(fmt.Sprintf("the calendar is larger than %d MiB", calendar.MaxFeed>>20))
	}
	return body, Validators{ETag: validator(response, "ETag"), LastModified: validator(response, "Last-Modified")}, true, nil
}

// validator returns a header of usual length.
func validator(response *http.Response, name string) string {
	if value := response.Header.Get(name); len(value) <= 1000 {
		return value
	}
	return ""
}

// statusError says what a status means for the owner of a calendar.
func statusError(response *http.Response) error {
	status := strconv.Itoa(response.StatusCode)
	switch response.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		return unreadable("the server refuses access (" + status +
			"): copy the secret address in iCal format from the settings of the calendar again")
	case http.StatusNotFound, http.StatusGone:
		return unreadable("there is no calendar at this address (" + status +
			"): it may have been reset; copy it from the settings of the calendar again")
	}
	return &calendarapi.Error{
		Reason: "the server responded with " + status, RetryAfter: retry.After(response.Header.Get("Retry-After"), time.Now(), maxPause),
	}
}

// connectError says why a feed could not be read. It leaves out the address, which is
// secret, and what names resolve to in the network of the service.
func connectError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if known, ok := errors.AsType[*calendarapi.Error](err); ok {
		return known
	}
	return &calendarapi.Error{Reason: "the calendar could not be fetched: " + dialguard.Public(err), Unreachable: true}
}
