package pagecheck

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"standin/client"

	"standin/internal/bot/browser"
	"standin/internal/bot/capture"
	"standin/internal/bot/meeting"
	"standin/internal/bot/session"
	"standin/internal/job"
	"standin/internal/launch"
	"standin/internal/replica"
	"standin/internal/testing/testbrowser"
	"standin/internal/webhook"
)

// event is a webhook that a receiver got.
type event struct {
	Event string `json:"event"`
	Data  struct {
		Report Report `json:"report"`
	} `json:"data"`
}

// receive returns the URL of a receiver of webhooks, which verifies them.
func receive(t *testing.T, secret string) (address string, events <-chan event) {
	t.Helper()
	received := make(chan event, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = client.VerifyWebhook(r.Header, body, secret, time.Now())
		}
		var got event
		if err == nil {
			err = json.Unmarshal(body, &got)
		}
		if err != nil {
			t.Errorf("webhook %s: %v", body, err)
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		received <- got
	}))
	t.Cleanup(server.Close)
	return server.URL, received
}

// openChangingReplica opens a meeting that admits guests, behind a proxy that renames the
// join button while changed is set.
func openChangingReplica(t *testing.T, changed *atomic.Bool) (opened *replica.Meeting, address string) {
	t.Helper()
	server, err := replica.Start(t.Context(), replica.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	if opened, err = server.Open(replica.Settings{AdmitAfter: 300 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.ModifyResponse = func(r *http.Response) error {
		if !changed.Load() || !strings.HasSuffix(r.Request.URL.Path, "/meet.js") {
			return nil
		}
		script, err := io.ReadAll(r.Body)
		renamed := bytes.ReplaceAll(script, []byte(`"Ask to join"`), []byte(`"Enter the call"`))
		if err == nil && bytes.Equal(renamed, script) {
			err = fmt.Errorf("the replica's script has no such label")
		}
		r.Body = io.NopCloser(bytes.NewReader(renamed))
		r.Header.Set("Content-Length", strconv.Itoa(len(renamed)))
		return err
	}
	front := httptest.NewServer(proxy)
	t.Cleanup(front.Close)
	return opened, front.URL + strings.TrimPrefix(opened.URL(), server.URL())
}

// TestCanary visits a page that matches, then changes, and matches again.
func TestCanary(t *testing.T) {
	t.Parallel()
	path := testbrowser.ForPages(t) // a canary does not record
	testbrowser.Reserve(t)
	var changed atomic.Bool
	opened, address := openChangingReplica(t, &changed)
	host, _, _ := strings.Cut(strings.TrimPrefix(address, "http://"), "/")
	secret := webhook.NewSecret()
	hook, events := receive(t, secret)
	autoLeave := job.DefaultAutoLeave()
	autoLeave.AfterEntryDelaySeconds = 30
	captures := t.TempDir()
	watcher := NewCanary(CanarySettings{
		Bot: session.Settings{
			BotConfig: launch.BotConfig{
				Assignment: launch.Assignment{
					MeetingURL: address, Platform: job.Meet, DisplayName: "Canary of Eve", AutoLeave: autoLeave, AllowedHosts: []string{host}, LoopbackPeers: true,
				},
				BotSettings: launch.BotSettings{Browser: path, BrowserMode: string(browser.Headless)},
			},
			Timeouts: session.Timeouts{Join: 12 * time.Second, Leave: 20 * time.Second}, Log: slog.New(slog.DiscardHandler),
		},
		Captures: captures, Webhook: hook, Secret: webhook.Secret{Value: secret}, Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		Log: slog.New(slog.DiscardHandler),
	})
	for _, visit := range []struct {
		changed bool
		event   string // of the webhook; empty: none
	}{{false, ""}, {true, EventMismatch}, {false, EventMatch}} {
		changed.Store(visit.changed)
		report, err := watcher.Visit(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		if err := report.WriteText(&text); err != nil {
			t.Fatal(err)
		}
		t.Log(text.String())
		if report.Match == visit.changed || report.Profile != "embedded/meet.yaml" {
			t.Errorf("changed %v: %+v", visit.changed, report.Problems)
		}
		if !visit.changed && !report.Left {
			t.Error("the canary did not leave by the page's control")
		}
		checkEvent(t, events, visit.event)
		checkMetrics(t, watcher, report, visit.changed)
		if visit.changed {
			checkCapture(t, report)
		}
	}
	for _, guest := range opened.Guests() {
		if guest.State == replica.StateLobby || guest.State == replica.StateAdmitted {
			t.Errorf("guest %s remains in the meeting", guest.ID)
		}
	}
	if kept, err := filepath.Glob(captures + "/*.zip"); err != nil || len(kept) != 1 {
		t.Errorf("captures %v, %v", kept, err)
	}
}

// checkEvent checks the webhook after a visit.
func checkEvent(t *testing.T, events <-chan event, want string) {
	t.Helper()
	select {
	case got := <-events:
		if got.Event != want || got.Data.Report.Match != (want == EventMatch) {
			t.Errorf("webhook %+v, want %q", got, want)
		}
	default: // it was sent before the visit returned
		if want != "" {
			t.Errorf("no webhook, want %q", want)
		}
	}
}

// checkMetrics checks the metrics after a visit.
func checkMetrics(t *testing.T, watcher *Canary, report Report, changed bool) {
	t.Helper()
	recorder := httptest.NewRecorder()
	watcher.Metrics().ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	want := []string{"standin_canary_match 1", `standin_canary_element_candidate{element="joinButton",screen="preJoin"} 1`, `standin_canary_element_candidate{element="leaveButton",screen="inMeeting"} 1`}
	if changed {
		want = []string{"standin_canary_match 0", `standin_canary_element_candidate{element="joinButton",screen="preJoin"} 0`}
	}
	for _, text := range want {
		if !strings.Contains(recorder.Body.String(), text+"\n") {
			t.Errorf("the metrics lack %q after %+v:\n%s", text, report.Problems, recorder.Body)
		}
	}
}

// checkCapture checks the capture of a page that changed.
func checkCapture(t *testing.T, report Report) {
	t.Helper()
	made, err := capture.Open(report.Capture)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(made.Page), "Enter the call") || len(made.Snapshots) == 0 || strings.Contains(string(made.Page), "Canary of Eve") {
		t.Errorf("the capture of %d snapshots holds %s", len(made.Snapshots), made.Page)
	}
}

// TestReport checks what counts as a problem.
func TestReport(t *testing.T) {
	t.Parallel()
	profiles, err := meeting.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	visit := func(problem string, candidates map[string]int, hidden ...string) session.Visit {
		snapshot := meeting.Snapshot{Elements: make(map[string]meeting.VisibleElement), Hidden: make(map[string]int)}
		for name, candidate := range candidates {
			snapshot.Elements[name] = meeting.VisibleElement{Candidate: candidate - 1}
		}
		for _, name := range hidden {
			snapshot.Hidden[name] = 0
		}
		return session.Visit{
			Profile: profiles[job.Meet], Problem: problem,
			Snapshots: []meeting.CapturedSnapshot{{Snapshot: snapshot}}, Decisions: []meeting.Decision{{Screen: meeting.InMeeting}},
		}
	}
	whole := map[string]int{"leaveButton": 1, "chatButton": 1, "microphoneOff": 1, "cameraOff": 1, "captionsButton": 1}
	without := func(name string, candidate int) map[string]int {
		changed := map[string]int{name: candidate}
		for other, known := range whole {
			if other != name {
				changed[other] = known
			}
		}
		if candidate == 0 {
			delete(changed, name)
		}
		return changed
	}
	baseline := newReport(visit("", whole), nil)
	for name, test := range map[string]struct {
		visit    session.Visit
		baseline *Report
		want     string
	}{
		"all":                           {visit("", whole), nil, "[]"},
		"again":                         {visit("", whole), &baseline, "[]"},
		"hidden":                        {visit("", without("leaveButton", 0), "leaveButton"), &baseline, "[]"},
		"missing":                       {visit("", without("leaveButton", 0)), nil, "[inMeeting: leaveButton missing]"},
		"a control that never was":      {visit("", without("captionsButton", 0)), nil, "[]"},
		"a control that was":            {visit("", without("captionsButton", 0)), &baseline, "[inMeeting: captionsButton missing]"},
		"another candidate":             {visit("", without("leaveButton", 2)), &baseline, "[inMeeting: leaveButton found by candidate 2, before by candidate 1]"},
		"another candidate from before": {visit("", without("leaveButton", 2)), nil, "[]"},
		"not admitted":                  {visit("not admitted", whole), &baseline, "[inMeeting: not admitted]"},
		"no page":                       {session.Visit{Problem: "no page"}, nil, "[unknown: no page]"},
	} {
		report := newReport(test.visit, test.baseline)
		if got := fmt.Sprint(report.Problems); got != test.want || report.Match != (test.want == "[]") {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

// TestNotify checks that a webhook is sent when the problems change, and not again.
func TestNotify(t *testing.T) {
	t.Parallel()
	secret := webhook.NewSecret()
	hook, events := receive(t, secret)
	c := NewCanary(CanarySettings{
		Webhook: hook, Secret: webhook.Secret{Value: secret}, Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Log: slog.New(slog.DiscardHandler),
	})
	for i, step := range []struct {
		problems string // the elements that are missing
		event    string
	}{{"", ""}, {"a", EventMismatch}, {"a", ""}, {"ab", EventMismatch}, {"", EventMatch}, {"", ""}} {
		report := Report{Match: step.problems == ""}
		for _, name := range step.problems {
			report.Problems = append(report.Problems, Problem{Screen: meeting.Lobby, Element: string(name), Detail: "missing"})
		}
		c.notify(t.Context(), report)
		got := ""
		select {
		case received := <-events:
			got = received.Event
		default:
		}
		if got != step.event {
			t.Errorf("step %d: webhook %q, want %q", i, got, step.event)
		}
	}
}

// TestKeep checks that only the newest captures are kept.
func TestKeep(t *testing.T) {
	t.Parallel()
	c := NewCanary(CanarySettings{Captures: filepath.Join(t.TempDir(), "captures"), Log: slog.New(slog.DiscardHandler)})
	start := time.Date(2026, 11, 22, 9, 59, 50, 0, time.UTC)
	visit := session.Visit{Capture: &capture.Capture{Info: capture.Info{Schema: capture.Schema}}}
	for i := range maxCaptures + 5 {
		if _, err := c.keep(visit, start.Add(time.Duration(i)*time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := filepath.Glob(filepath.Join(c.settings.Captures, "*"))
	if err != nil || len(kept) != maxCaptures || filepath.Base(kept[0]) != "canary-20261122T095955.000Z.zip" {
		t.Errorf("%d captures, the first %v, %v", len(kept), kept, err)
	}
}
