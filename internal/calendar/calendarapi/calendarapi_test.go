package calendarapi_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"standin/internal/calendar/calendarapi"
	"standin/internal/testing/calendartest"
)

// TestForeignLink checks that a link of a response is not followed to another server,
// which would get the access token.
func TestForeignLink(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("another server got %s with %q", r.URL, r.Header.Get("Authorization"))
	}))
	t.Cleanup(other.Close)
	graph := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"value":[],"@odata.nextLink":%q}`, other.URL+"/graph/next")
	}))
	t.Cleanup(graph.Close)
	double := calendartest.New(t)
	settings := double.Settings()
	settings.MicrosoftURLs.Graph = graph.URL
	api := calendarapi.New(settings, http.DefaultClient, nil)
	opened, err := api.Open(t.Context(), calendarapi.Access{Provider: calendarapi.Microsoft, RefreshToken: double.RefreshToken()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = opened.List(t.Context(), "", time.Now(), time.Now().Add(time.Hour))
	if refused, ok := errors.AsType[*calendarapi.Error](err); !ok || !strings.Contains(refused.Reason, "another server") {
		t.Errorf("List: %v", err)
	}
}

// TestEndlessPages checks that a list without an end is given up.
func TestEndlessPages(t *testing.T) {
	t.Parallel()
	double := calendartest.New(t)
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests++
		fmt.Fprintf(w, `{"value":[],"items":[],"nextPageToken":"more","@odata.nextLink":"http://%s/v1.0/next"}`, r.Host)
	}))
	t.Cleanup(server.Close)
	settings := double.Settings()
	settings.MicrosoftURLs.Graph, settings.GoogleURLs.Calendar = server.URL, server.URL
	api := calendarapi.New(settings, http.DefaultClient, nil)
	for _, p := range []calendarapi.Provider{calendarapi.Google, calendarapi.Microsoft} {
		requests = 0
		opened, err := api.Open(t.Context(), calendarapi.Access{
			Provider: p, RefreshToken: double.RefreshToken(),
		}, func(context.Context, string) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = opened.List(t.Context(), "", time.Now(), time.Now().Add(time.Hour))
		if refused, ok := errors.AsType[*calendarapi.Error](err); !ok || !strings.Contains(refused.Reason, "too many pages") || requests > 250 {
			t.Errorf("%s: %v after %d requests", p, err, requests)
		}
	}
}

// TestConsentURL checks that a user is asked for permission to change meetings only if an account is to be added to them.
func TestConsentURL(t *testing.T) {
	t.Parallel()
	api := calendarapi.New(calendarapi.Settings{GoogleClientID: "g", MicrosoftClientID: "m"}, http.DefaultClient, nil)
	for provider, want := range map[calendarapi.Provider][2]string{
		calendarapi.Google: {"https://www.googleapis.com/auth/calendar.readonly",
			"https://www.googleapis.com/auth/calendar.readonly https://www.googleapis.com/auth/calendar.events"},
		calendarapi.Microsoft: {"https://graph.microsoft.com/Calendars.Read offline_access", "https://graph.microsoft.com/Calendars.ReadWrite offline_access"},
	} {
		for n, invite := range []bool{false, true} {
			address, err := url.Parse(api.ConsentURL(provider, "https://standin.test/back", "state", "verifier", invite))
			if err != nil || address.Query().Get("scope") != want[n] {
				t.Errorf("%s, invite %t: %v, %v", provider, invite, address, err)
			}
		}
	}
}
