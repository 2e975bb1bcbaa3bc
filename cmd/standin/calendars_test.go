package main

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"standin/internal/job"
	"standin/internal/service"
)

// TestCalendarsCommands connects a calendar, lists and switches its meeting, and
// disconnects it.
func TestCalendarsCommands(t *testing.T) {
	t.Parallel()
	feed := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nUID:1\r\nSUMMARY:Review\r\nDTSTART:%s\r\nLOCATION:https://meet.google.com/abc-defg-hij\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n",
			time.Now().Add(24*time.Hour).UTC().Format("20060102T150405Z"))
	}))
	t.Cleanup(feed.Close)
	s, err := service.Start(t.Context(), service.Settings{
		Listen: "127.0.0.1:0", DataSettings: service.DataSettings{DataDir: newDataDir(t)}, LauncherSettings: service.LauncherSettings{Launcher: "manual"}, IngestSigningKey: "key", Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close the service: %v", err)
		}
	})
	_, key, err := s.Keys.Issue(t.Context(), "ada", "ada@example.com", job.Live)
	if err != nil {
		t.Fatal(err)
	}
	d := testCLI{base: s.BaseURL(), config: t.TempDir()}
	if err := saveCredentials(d.config, credentials{URL: d.base, APIKey: key}); err != nil {
		t.Fatal(err)
	}
	address := filepath.Join(t.TempDir(), "address")
	if err := os.WriteFile(address, []byte(feed.URL+"/secret.ics\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, _ := d.run(t, 0, "calendars", "connect", "Ada", "--address-file", address)
	id, rest, _ := strings.Cut(out, " ")
	if strings.TrimSpace(rest) != "active: upcoming meetings: 1, with a bot: 1" {
		t.Errorf("connect: %q", out)
	}
	if out, _ := d.run(t, 0, "calendars", "list"); !strings.Contains(out, id) || strings.Contains(out, "secret") {
		t.Errorf("list: %q", out)
	}
	out, _ = d.run(t, 0, "calendars", "events", id)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != 2 || !strings.HasSuffix(lines[1], "recorded: the calendar records all meetings") {
		t.Fatalf("events: %q", out)
	}
	event := strings.Fields(lines[1])[0]
	for to, want := range map[string]string{"off": "not recorded: it was switched off\n", "on": "recorded: it was switched on\n"} {
		if out, _ := d.run(t, 0, "calendars", "switch", id, event, to); out != want {
			t.Errorf("switch %s: %q", to, out)
		}
	}
	if out, _ := d.run(t, 0, "calendars", "sync", id, "--json"); !strings.Contains(out, `"state": "active"`) {
		t.Errorf("sync: %q", out)
	}
	d.run(t, 0, "calendars", "disconnect", id)
	if out, _ := d.run(t, 0, "calendars", "list", "--json"); strings.TrimSpace(out) != "[]" {
		t.Errorf("list: %q", out)
	}
	if err := os.WriteFile(address, []byte(d.base+"/nothing.ics"), 0o600); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	if code := run([]string{"calendars", "connect", "Ada", "--address-file", address, "--config-dir", d.config}, &stdout, &stderr); code == 0 || !strings.Contains(stderr.String(), "there is no calendar at this address (404)") {
		t.Errorf("a calendar that cannot be read: %d %s", code, stderr.String())
	}
}
