package pagecheck

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"standin/client"

	"standin/internal/bot/capture"
	"standin/internal/bot/meeting"
	"standin/internal/bot/session"
	"standin/internal/jobs/job"
	"standin/internal/jobs/webhook"
	"standin/internal/replica"
	"standin/internal/testing/profiletest"
	"standin/internal/testing/testbrowser"
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

// TestCanary visits a page that does not match the profile, and then does.
func TestCanary(t *testing.T) {
	t.Parallel()
	testbrowser.Reserve(t)
	other := profiletest.With(t, func(text string) string {
		return strings.Replace(text, `'button:not([role="dialog"] *), [role="button"]:not([role="dialog"] *)'`, `'#no-such-button'`, 1)
	})
	secret := webhook.NewSecret()
	hook, events := receive(t, secret)
	opened, settings := canaryMeeting(t, job.Meet, replica.Settings{AdmitAfter: 300 * time.Millisecond})
	settings.Captures, settings.Webhook, settings.Secret = t.TempDir(), hook, webhook.Secret{Value: secret}
	settings.Allow = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	watcher := NewCanary(settings)
	for _, visit := range []struct {
		profiles, event string // of the webhook
		join            time.Duration
	}{{other, EventMismatch, 12 * time.Second}, {"", EventMatch, time.Minute}} {
		changed := visit.profiles != ""
		watcher.Bot.Profiles, watcher.Bot.Timeouts.Join = visit.profiles, visit.join
		report, err := watcher.Visit(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		if err := report.WriteText(&text); err != nil {
			t.Fatal(err)
		}
		if report.Match == changed || strings.HasPrefix(report.Profile, other) != changed || strings.Contains(text.String(), "was not admitted") != changed {
			t.Errorf("changed %v: %s", changed, &text)
		}
		if !changed && !slices.ContainsFunc(report.Checks, func(c Check) bool { return c.Name == "streams" && c.State == CheckSeen }) {
			t.Errorf("the video of the companion does not come: %s", &text)
		}
		checkEvent(t, events, visit.event)
		checkMetrics(t, watcher, report, changed)
		if changed {
			checkCapture(t, report)
		}
	}
	for _, guest := range opened.Guests() {
		if guest.State == replica.StateLobby || guest.State == replica.StateAdmitted {
			t.Errorf("guest %s remains in the meeting", guest.ID)
		}
	}
	if kept, err := filepath.Glob(settings.Captures + "/*.zip"); err != nil || len(kept) != 1 {
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
	want := []string{
		"standin_canary_match 1", `standin_canary_element_candidate{element="joinButton",screen="preJoin"} 1`,
		`standin_canary_element_candidate{element="leaveButton",screen="inMeeting"} 1`,
		`standin_canary_check{check="speaking",state="seen"} 1`,
	}
	if changed {
		want = []string{
			"standin_canary_match 0", `standin_canary_check{check="speaking",state="unchecked"} 1`, `standin_canary_element_candidate{element="joinButton",screen="preJoin"} 0`,
		}
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
	if !strings.Contains(string(made.Page), "Ask to join") || len(made.Snapshots) == 0 ||
		strings.Contains(string(made.Page), "Canary of Eve") {
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
	visit := func(problem string, candidates map[string]int, hidden ...string) *encounter {
		snapshot := meeting.Snapshot{Elements: make(map[string]meeting.VisibleElement), Hidden: make(map[string]int)}
		for name, candidate := range candidates {
			snapshot.Elements[name] = meeting.VisibleElement{Candidate: candidate - 1}
		}
		for _, name := range hidden {
			snapshot.Hidden[name] = 0
		}
		observer := &session.Visitor{Profile: profiles[job.Meet], Problem: problem, Last: meeting.Observation{Screen: meeting.InMeeting}}
		observer.Seen.Add(meeting.Observation{Screen: meeting.InMeeting, Captured: &meeting.CapturedSnapshot{Snapshot: snapshot}})
		return &encounter{observer: observer, companion: &session.Visitor{}}
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
		visit    *encounter
		baseline *Report
		want     string
	}{
		"all":                      {visit("", whole), nil, "[]"},
		"again":                    {visit("", whole), &baseline, "[]"},
		"hidden":                   {visit("", without("leaveButton", 0), "leaveButton"), &baseline, "[]"},
		"missing":                  {visit("", without("leaveButton", 0)), nil, "[inMeeting: leaveButton missing]"},
		"a control that never was": {visit("", without("captionsButton", 0)), nil, "[]"},
		"a control that was":       {visit("", without("captionsButton", 0)), &baseline, "[inMeeting: captionsButton missing]"},
		"another candidate": {
			visit("", without("leaveButton", 2)), &baseline, "[inMeeting: leaveButton found by candidate 2, before by candidate 1]",
		},
		"another candidate from before": {visit("", without("leaveButton", 2)), nil, "[]"},
		"not admitted":                  {visit("not admitted", whole), &baseline, "[inMeeting: not admitted]"},
		"no page": {
			&encounter{observer: &session.Visitor{Profile: profiles[job.Meet], Problem: "no page"}, companion: &session.Visitor{Problem: "none either"}}, nil,
			"[unknown: no page unknown: the companion was not admitted: none either]",
		},
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
		Webhook: hook, Secret: webhook.Secret{Value: secret}, Allow: []netip.Prefix{
			netip.MustParsePrefix("127.0.0.0/8"),
		}, Log: slog.New(slog.DiscardHandler),
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
	captured := &capture.Capture{Info: capture.Info{Schema: capture.Schema}}
	for i := range maxCaptures + 5 {
		if _, err := c.keep(captured, start.Add(time.Duration(i)*time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := filepath.Glob(filepath.Join(c.Captures, "*"))
	if err != nil || len(kept) != maxCaptures || filepath.Base(kept[0]) != "canary-20261122T095955.000Z.zip" {
		t.Errorf("%d captures, the first %v, %v", len(kept), kept, err)
	}
}
