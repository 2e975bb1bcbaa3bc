package deploy_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"standin/internal/jobs/job"
	"standin/internal/server/httpapi"
	"standin/internal/server/service"
)

// absentMetrics are shown only under conditions that the test does not create. Each is
// described in a document.
var absentMetrics = map[string]string{
	"standin_capacity_shortage_seconds":           "../docs/monitor.md",
	"standin_node_bot_cores":                      "../docs/monitor.md",
	"standin_node_bot_memory_bytes":               "../docs/monitor.md",
	"standin_canary_match":                        "../docs/diagnose.md",
	"standin_canary_last_visit_timestamp_seconds": "../docs/diagnose.md",
}

// alertRule is a rule of Prometheus.
type alertRule struct {
	Alert       string            `yaml:"alert"`
	Expr        string            `yaml:"expr"`
	For         string            `yaml:"for"`
	Labels      map[string]string `yaml:"labels"`
	Annotations map[string]string `yaml:"annotations"`
}

func alertRules(t *testing.T) (rules []alertRule) {
	t.Helper()
	var file struct {
		Groups []struct {
			Name  string      `yaml:"name"`
			Rules []alertRule `yaml:"rules"`
		} `yaml:"groups"`
	}
	decoder := yaml.NewDecoder(bytes.NewReader(read(t, "monitoring/alerts.yaml")))
	decoder.KnownFields(true)
	if err := decoder.Decode(&file); err != nil {
		t.Fatal(err)
	}
	for _, group := range file.Groups {
		rules = append(rules, group.Rules...)
	}
	if len(rules) == 0 {
		t.Fatal("there are no rules")
	}
	return rules
}

// TestMonitoring checks that the metrics of the alert rules and of the Grafana
// dashboard exist in the metrics of a service that has just started: increase() does not
// see the first event of a counter that begins with it.
func TestMonitoring(t *testing.T) {
	t.Parallel()
	exists := servedMetrics(t)
	for _, file := range []string{"monitoring/alerts.yaml", "monitoring/grafana.json"} {
		content := string(read(t, file))
		if file == "monitoring/grafana.json" && !json.Valid([]byte(content)) {
			t.Errorf("%s is no JSON", file)
		}
		names := regexp.MustCompile(`\bstandin_\w+`).FindAllString(content, -1)
		if len(names) < 10 {
			t.Errorf("%s has only the metrics %q", file, names)
		}
		for _, name := range names {
			document, absent := absentMetrics[name]
			if !exists[name] && (!absent || !strings.Contains(string(read(t, document)), name)) {
				t.Errorf("%s: the metric %s does not exist", file, name)
			}
		}
	}
}

// servedMetrics returns the names of the metrics of a running service.
func servedMetrics(t *testing.T) map[string]bool {
	t.Helper()
	const secret = "the metrics secret"
	s, err := service.Start(t.Context(), service.Settings{
		Listen: "127.0.0.1:0", DataSettings: service.DataSettings{DataDir: t.TempDir()},
		LauncherSettings: service.LauncherSettings{Launcher: "manual"}, KeySettings: service.KeySettings{IngestSigningKey: "key"},
		HTTP: httpapi.Options{MetricsSecret: secret},
		Log:  slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	names := map[string]bool{}
	for !names["standin_node_bots"] { // after the first heartbeat of the node
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.BaseURL()+"/metrics", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+secret)
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		if err := errors.Join(err, answer.Body.Close()); err != nil {
			t.Fatal(err)
		}
		for _, match := range regexp.MustCompile(`(?m)^([a-z_0-9]+)[{ ]`).FindAllSubmatch(text, -1) {
			names[string(match[1])] = true
		}
	}
	return names
}

// TestRunbook checks that the runbook has a complete section for each alert and for
// each failure code, and no other alerts.
func TestRunbook(t *testing.T) {
	t.Parallel()
	sections := map[string]string{}
	for _, section := range strings.Split(string(read(t, "../docs/runbook.md")), "\n### ")[1:] {
		title, text, _ := strings.Cut(section, "\n")
		sections[title] = text
	}
	var wanted []string
	for _, code := range job.FailureCodes() {
		wanted = append(wanted, string(code))
	}
	for _, rule := range alertRules(t) {
		wanted = append(wanted, rule.Alert)
		if rule.Annotations["runbook_url"] != "https://standin.example/docs/guide/runbook.html#"+strings.ToLower(rule.Alert) {
			t.Errorf("%s refers to %s", rule.Alert, rule.Annotations["runbook_url"])
		}
		if rule.Labels["severity"] != "critical" && rule.Labels["severity"] != "warning" || rule.Annotations["summary"] == "" {
			t.Errorf("%s has no severity or no summary", rule.Alert)
		}
	}
	for _, title := range wanted {
		for _, part := range []string{"**Meaning:**", "**Check:**", "**Fix:**"} {
			if !strings.Contains(sections[title], part) {
				t.Errorf("the runbook has no %s for %s", part, title)
			}
		}
	}
	for title := range sections {
		if !slices.Contains(wanted, title) {
			t.Errorf("the runbook has a section for %s, which does not exist", title)
		}
	}
}
