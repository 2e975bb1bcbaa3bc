package pagecheck

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"standin/internal/base/counter"
	"standin/internal/bot/meeting"
	"standin/internal/bot/session"
	"standin/internal/jobs/job"
)

// Report is the result of a visit.
type Report struct {
	At       time.Time    `json:"at"`
	Seconds  float64      `json:"seconds"` // how long the visit lasted
	Platform job.Platform `json:"platform"`
	Profile  string       `json:"profile"` // its file
	Version  int          `json:"version"`
	Match    bool         `json:"match"`
	Problems []Problem    `json:"problems"`
	Steps    []Step       `json:"steps"`
	Checks   []Check      `json:"checks"`
	Capture  string       `json:"capture,omitempty"` // file with a capture of the page
}

// Problem is a difference between a page and the profile.
type Problem struct {
	Screen  meeting.Screen `json:"screen"`
	Element string         `json:"element,omitempty"`
	Check   string         `json:"check,omitempty"`
	Detail  string         `json:"detail"`
}

// Step is a screen of the visit, when it was first shown, and the elements of the profile on it.
type Step struct {
	Screen   meeting.Screen `json:"screen"`
	After    float64        `json:"after"` // seconds since the first snapshot
	Evidence string         `json:"evidence"`

	// Elements are those that a bot uses on the screen, and others that were found: the candidate of the profile that
	// found each, counted from 1; 0 if it is missing.
	Elements map[string]int `json:"elements"`
}

// newReport compares a visit with the profile and with an earlier visit without
// problems, which may be nil.
func newReport(met *encounter, baseline *Report) Report {
	profile := met.observer.Profile
	report := Report{
		Platform: profile.Platform, Profile: profile.Source(), Version: profile.Version,
		Problems: []Problem{}, Steps: steps(met.observer), Checks: slices.Clone(met.checks),
	}
	for i, bot := range []*session.Visitor{met.observer, met.companion} {
		if bot.Problem != "" {
			detail := []string{"", "the companion was not admitted: "}[i] + bot.Problem
			report.Problems = append(report.Problems, Problem{Screen: cmp.Or(bot.Last.Screen, meeting.Unknown), Detail: detail})
		}
	}
	for _, step := range report.Steps {
		report.Problems = append(report.Problems, compare(profile, step, baseline)...)
	}
	for _, check := range met.checks {
		if check.State == CheckMissing {
			report.Problems = append(report.Problems, Problem{
				Screen: meeting.InMeeting, Check: check.Name,
				Detail: fmt.Sprintf("missing: %s; profile: %s", check.Expected, cmp.Or(check.Entry, "-")),
			})
		}
	}
	report.Match = len(report.Problems) == 0
	return report
}

// addElement adds an element, by the best of its candidates.
func addElement(found map[string]int, name string, candidate int) {
	if known := found[name]; known == 0 || candidate > 0 && candidate < known {
		found[name] = candidate
	}
}

// compare returns the problems of a screen: elements that a bot needs and that are
// missing, and elements that only a later candidate finds than in the baseline.
func compare(profile *meeting.Profile, step Step, baseline *Report) []Problem {
	var before map[string]int
	if baseline != nil {
		for _, earlier := range baseline.Steps {
			if earlier.Screen == step.Screen {
				before = earlier.Elements
			}
		}
	}
	found := step.Elements
	var problems []Problem
	for _, name := range profile.ExpectedElements(step.Screen, snapshotOf(found)) {
		// A call may lack one of the controls that prove admission.
		optional := slices.Contains(profile.Admission.Controls, name) && before[name] == 0
		if found[name] == 0 && !optional {
			problems = append(problems, Problem{Screen: step.Screen, Element: name, Detail: "missing"})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if before[name] > 0 && found[name] > before[name] {
			problems = append(problems, Problem{
				Screen: step.Screen, Element: name, Detail: fmt.Sprintf("found by candidate %d, before by candidate %d", found[name], before[name]),
			})
		}
	}
	return problems
}

// snapshotOf returns a snapshot with the elements that were found.
func snapshotOf(found map[string]int) meeting.Snapshot {
	snapshot := meeting.Snapshot{Elements: make(map[string]meeting.VisibleElement)}
	for name, candidate := range found {
		if candidate > 0 {
			snapshot.Elements[name] = meeting.VisibleElement{}
		}
	}
	return snapshot
}

// steps returns the screens of a visit in their order, with the elements that any
// snapshot of the screen showed or held hidden.
func steps(visit *session.Visitor) []Step {
	var all []Step
	snapshots, decisions, _ := visit.Seen.Content()
	for i, decision := range decisions {
		at := slices.IndexFunc(all, func(step Step) bool { return step.Screen == decision.Screen })
		if at < 0 {
			at = len(all)
			var what []string
			for _, evidence := range decision.Evidence {
				what = append(what, evidence.What)
			}
			all = append(all, Step{
				Screen: decision.Screen, Evidence: strings.Join(what, "; "), Elements: make(map[string]int),
				After: snapshots[i].At.Sub(snapshots[0].At).Seconds(),
			})
		}
		for name, element := range snapshots[i].Snapshot.Elements {
			addElement(all[at].Elements, name, element.Candidate+1)
		}
		for name, candidate := range snapshots[i].Snapshot.Hidden {
			addElement(all[at].Elements, name, candidate+1)
		}
	}
	for _, step := range all {
		for _, name := range visit.Profile.ExpectedElements(step.Screen, snapshotOf(step.Elements)) {
			addElement(step.Elements, name, 0)
		}
	}
	return all
}

// WriteText writes the report for people.
func (r Report) WriteText(w io.Writer) error {
	var b strings.Builder
	result := "matches the profile"
	if !r.Match {
		result = "does not match the profile"
	}
	fmt.Fprintf(&b, "%s  %s %s (%s version %d), %.1f s\n", r.At.UTC().Format(time.RFC3339), r.Platform, result, r.Profile, r.Version,
		r.Seconds)
	for _, step := range r.Steps {
		fmt.Fprintf(&b, "  %5.1f s  %s: %s\n", step.After, step.Screen, cmp.Or(oneLine(step.Evidence), "no evidence"))
		var elements []string
		for _, name := range slices.Sorted(maps.Keys(step.Elements)) {
			candidate := fmt.Sprint(step.Elements[name])
			if candidate == "0" {
				candidate = "missing"
			}
			elements = append(elements, name+" ("+candidate+")")
		}
		fmt.Fprintf(&b, "           %s\n", strings.Join(elements, ", "))
	}
	for _, check := range r.Checks {
		fmt.Fprintf(&b, "  %-9s %s: %s\n", check.State, check.Name, oneLine(cmp.Or(check.Seen, check.Expected)))
	}
	for _, problem := range r.Problems {
		fmt.Fprintf(&b, "  problem  %s\n", oneLine(problem.String()))
	}
	if r.Capture != "" {
		fmt.Fprintf(&b, "  capture  %s\n", r.Capture)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// String describes the problem.
func (p Problem) String() string {
	return strings.Replace(fmt.Sprintf("%s: %s %s", p.Screen, p.Element+p.Check, p.Detail), ":  ", ": ", 1)
}

// canaryMetrics are the metrics of a canary.
type canaryMetrics struct {
	registry *prometheus.Registry
	match    prometheus.Gauge
	visits   *prometheus.CounterVec
	last     prometheus.Gauge
	seconds  prometheus.Gauge
	elements *prometheus.GaugeVec
	checks   *prometheus.GaugeVec
	webhooks prometheus.Counter
}

func newCanaryMetrics() *canaryMetrics {
	m := &canaryMetrics{
		registry: prometheus.NewRegistry(),
		match: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "standin_canary_match", Help: "1 if the pages of the last visit matched the profile, otherwise 0.",
		}),
		visits: counter.New("standin_canary_visits_total", "Visits by result: match, mismatch or failed.", "result",
			"match", "mismatch", "failed"),
		last: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "standin_canary_last_visit_timestamp_seconds", Help: "When the last visit that reached a page began.",
		}),
		seconds: prometheus.NewGauge(prometheus.GaugeOpts{Name: "standin_canary_last_visit_seconds", Help: "How long the last visit lasted."}),
		elements: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "standin_canary_element_candidate",
			Help: "Candidate of the profile that found an element in the last visit, from 1; 0 if the element is missing.",
		}, []string{"screen", "element"}),
		checks: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "standin_canary_check", Help: "1 for the state of each check of the last visit: seen, missing or unchecked.",
		}, []string{"check", "state"}),
		webhooks: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "standin_canary_webhook_failures_total", Help: "Webhooks that were not accepted.",
		}),
	}
	m.registry.MustRegister(m.match, m.visits, m.last, m.seconds, m.elements, m.checks, m.webhooks)
	return m
}

// visited counts a visit.
func (m *canaryMetrics) visited(report Report) {
	result, match := "mismatch", 0.0
	if report.Match {
		result, match = "match", 1
	}
	m.visits.WithLabelValues(result).Inc()
	m.match.Set(match)
	m.last.Set(float64(report.At.UnixMilli()) / 1000)
	m.seconds.Set(report.Seconds)
	m.elements.Reset()
	for _, step := range report.Steps {
		for name, candidate := range step.Elements {
			m.elements.WithLabelValues(string(step.Screen), name).Set(float64(candidate))
		}
	}
	m.checks.Reset()
	for _, check := range report.Checks {
		m.checks.WithLabelValues(check.Name, check.State).Set(1)
	}
}

// Metrics serves the metrics without authentication.
func (c *Canary) Metrics() http.Handler {
	return promhttp.HandlerFor(c.metrics.registry, promhttp.HandlerOpts{})
}
