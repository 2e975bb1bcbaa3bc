package browser_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"standin/internal/bot/browser"
	"standin/internal/testing/await"
)

// otherSite is a site that a meeting page may load in frames, but not navigate to.
type otherSite struct {
	*httptest.Server
	documents atomic.Int64 // opened in the main frame
	frames    atomic.Int64
}

func startOtherSite(t *testing.T) *otherSite {
	t.Helper()
	e := &otherSite{}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/frame":
			e.frames.Add(1)
		case "/favicon.ico":
		default:
			e.documents.Add(1)
		}
	}))
	t.Cleanup(e.Close)
	return e
}

func TestGuardNavigation(t *testing.T) {
	t.Parallel()
	ctx := limited(t)
	meeting, other := meetingPage(t), startOtherSite(t)
	p, err := shared.use(t).NewPage(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	blocked := make(chan string, 100)
	err = p.GuardNavigation(ctx, func(address string) bool {
		allowed := strings.HasPrefix(address, meeting.URL+"/")
		if !allowed {
			blocked <- address
		}
		return allowed
	})
	if err != nil {
		t.Fatal(err)
	}

	blockedTargets := []string{
		other.URL + "/direct", meeting.URL + "/redirect?to=" + url.QueryEscape(other.URL+"/redirected?pwd=secret"),
		"file:///etc/passwd", "chrome://version", "view-source:" + meeting.URL,
	}
	for _, address := range blockedTargets {
		var blockedErr *browser.NavigationBlockedError
		if err := p.Navigate(ctx, address); !errors.As(err, &blockedErr) || strings.Contains(err.Error(), "secret") {
			t.Errorf("Navigate(%s) = %v, want a NavigationBlockedError without the passcode", address, err)
		}
	}
	if err := p.Navigate(ctx, meeting.URL+"/"); err != nil {
		t.Fatalf("Navigate to the meeting: %v", err)
	}
	if err := p.Navigate(ctx, meeting.URL+"/redirect?to=/home"); err != nil {
		t.Errorf("Navigate to a redirect within the meeting: %v", err)
	}
	if err := p.EvalInPage(ctx, "stayed = true, undefined", nil); err != nil {
		t.Fatal(err)
	}

	frame := fmt.Sprintf(`new Promise(resolve => {
		document.body.appendChild(Object.assign(document.createElement("iframe"), {src: %q, onload: resolve}));
	}).then(() => undefined)`, strings.Replace(other.URL, "127.0.0.1", "localhost", 1)+"/frame")
	if err := p.EvalInPage(ctx, frame, nil); err != nil || other.frames.Load() != 1 {
		t.Errorf("%d frames were loaded, %v; want one of the other site", other.frames.Load(), err)
	}
	ways := map[string]string{
		"script":      `location = %q`,
		"replacement": `location.replace(%q)`,
		"link":        `document.body.appendChild(Object.assign(document.createElement("a"), {href: %q})).click()`,
		"form":        `document.body.appendChild(Object.assign(document.createElement("form"), {action: %q, method: "post"})).submit()`,
		"redirect":    `location = "/redirect?to=" + encodeURIComponent(%q)`,
		"refresh":     `document.head.appendChild(Object.assign(document.createElement("meta"), {httpEquiv: "refresh", content: "0; url=" + %q}))`,
		"frame":       `document.body.appendChild(document.createElement("iframe")).contentWindow.eval("top.location = " + JSON.stringify(%q))`,
	}
	for path, script := range ways {
		t.Run(path, func(t *testing.T) {
			for len(blocked) > 0 {
				<-blocked
			}
			address := strings.Replace(other.URL, "127.0.0.1", "localhost", 1) + "/" + path
			if err := p.EvalWithGesture(ctx, fmt.Sprintf(script, address)+", undefined", nil); err != nil {
				t.Fatal(err)
			}
			select {
			case got := <-blocked:
				if got != address {
					t.Errorf("the blocked address is %s, want %s", got, address)
				}
			case <-ctx.Done():
				t.Fatal("the navigation is not blocked")
			}
			var stayed bool
			if err := p.EvalInPage(ctx, "window.stayed === true", &stayed); err != nil || !stayed {
				t.Errorf("the page did not stay: %v, %v", stayed, err)
			}
		})
	}
	if opened := other.documents.Load(); opened > 0 {
		t.Errorf("the other site received %d requests for documents", opened)
	}
	// Navigation within the meeting still works.
	if err := p.EvalInPage(ctx, "location = '/next', undefined", nil); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "the page navigates to /next", func() bool {
		address, err := p.URL(ctx)
		return err == nil && address == meeting.URL+"/next"
	})
}
