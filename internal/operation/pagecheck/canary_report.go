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
	Left     bool         `json:"left"`              // by the page's own control
	Capture  string       `json:"capture,omitempty"` // file with a capture of the page
}

// Problem is a difference between a page and the profile.
type Problem struct {
	Screen  meeting.Screen `json:"screen"`
	Element string         `json:"element,omitempty"`
	Detail  string         `json:"detail"`
}

// Step is a screen of the visit and the elements of the profile on it.
type Step struct {
	Screen   meeting.Screen `json:"screen"`
	After    float64        `json:"after"` // seconds since the first snapshot
	Evidence string         `json:"evidence"`
	Elements []StepElement  `json:"elements"` // those that a bot uses on the screen, and others that were found
}

// StepElement is an element of the profile on a screen of a visit.
type StepElement struct {
	Name      string `json:"name"`
	Candidate int    `json:"candidate"` // that found it, counted from 1; 0: missing
}

// newReport compares a visit with the profile and with an earlier visit without
// problems, which may be nil.
func newReport(visit session.Visit, baseline *Report) Report {
	report := Report{Steps: steps(visit), Problems: []Problem{}, Left: visit.Left}
	if visit.Profile != nil {
		report.Platform, report.Profile, report.Version = visit.Profile.Platform, visit.Profile.Source(), visit.Profile.Version
	}
	if visit.Problem != "" {
		last := meeting.Unknown
		if len(report.Steps) > 0 {
			last = report.Steps[len(report.Steps)-1].Screen
		}
		report.Problems = append(report.Problems, Problem{Screen: last, Detail: visit.Problem})
	}
	seen := make(map[meeting.Screen]bool)
	for _, step := range report.Steps {
		if visit.Profile != nil && !seen[step.Screen] {
			seen[step.Screen] = true
			report.Problems = append(report.Problems, compare(visit.Profile, step, candidatesOn(report.Steps, step.Screen), baseline)...)
		}
	}
	report.Match = len(report.Problems) == 0
	return report
}

// candidatesOn returns the candidates that found elements on a screen.
func candidatesOn(steps []Step, screen meeting.Screen) map[string]int {
	found := make(map[string]int)
	for _, step := range steps {
		if step.Screen != screen {
			continue
		}
		for _, element := range step.Elements {
			if known := found[element.Name]; known == 0 || element.Candidate > 0 && element.Candidate < known {
				found[element.Name] = element.Candidate
			}
		}
	}
	return found
}

// compare returns the problems of a screen: elements that a bot needs and that are
// missing, and elements that only a later candidate finds than in the baseline.
func compare(profile *meeting.Profile, step Step, found map[string]int, baseline *Report) []Problem {
	var before map[string]int
	if baseline != nil {
		before = candidatesOn(baseline.Steps, step.Screen)
	}
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
func steps(visit session.Visit) []Step {
	var all []Step
	for i, decision := range visit.Decisions {
		if last := len(all) - 1; last < 0 || all[last].Screen != decision.Screen {
			if last >= 0 {
				addMissing(visit.Profile, &all[last])
			}
			var what []string
			for _, evidence := range decision.Evidence {
				what = append(what, evidence.What)
			}
			all = append(all, Step{
				Screen: decision.Screen, Evidence: strings.Join(what, "; "), Elements: []StepElement{},
				After: visit.Snapshots[i].At.Sub(visit.Snapshots[0].At).Seconds(),
			})
		}
		step := &all[len(all)-1]
		for name, element := range visit.Snapshots[i].Snapshot.Elements {
			addElement(step, name, element.Candidate+1)
		}
		for name, candidate := range visit.Snapshots[i].Snapshot.Hidden {
			addElement(step, name, candidate+1)
		}
	}
	if len(all) > 0 {
		addMissing(visit.Profile, &all[len(all)-1])
	}
	return all
}

// addElement adds an element that was found, by the best of its candidates.
func addElement(step *Step, name string, candidate int) {
	for i, element := range step.Elements {
		if element.Name == name {
			step.Elements[i].Candidate = min(element.Candidate, candidate)
			return
		}
	}
	step.Elements = append(step.Elements, StepElement{Name: name, Candidate: candidate})
}

// addMissing adds the elements that a bot uses on the screen and that are missing,
// and sorts all.
func addMissing(profile *meeting.Profile, step *Step) {
	found := candidatesOn([]Step{*step}, step.Screen)
	if profile != nil {
		for _, name := range profile.ExpectedElements(step.Screen, snapshotOf(found)) {
			if found[name] == 0 {
				step.Elements = append(step.Elements, StepElement{Name: name})
			}
		}
	}
	slices.SortFunc(step.Elements, func(a, b StepElement) int { return cmp.Compare(a.Name, b.Name) })
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
		var found, missing []string
		for _, element := range step.Elements {
			if element.Candidate == 0 {
				missing = append(missing, element.Name)
			} else {
				found = append(found, fmt.Sprintf("%s (%d)", element.Name, element.Candidate))
			}
		}
		if len(found) > 0 {
			fmt.Fprintf(&b, "           found    %s\n", strings.Join(found, ", "))
		}
		if len(missing) > 0 {
			fmt.Fprintf(&b, "           missing  %s\n", strings.Join(missing, ", "))
		}
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
	if p.Element == "" {
		return fmt.Sprintf("%s: %s", p.Screen, p.Detail)
	}
	return fmt.Sprintf("%s: %s %s", p.Screen, p.Element, p.Detail)
}

// canaryMetrics are the metrics of a canary.
type canaryMetrics struct {
	registry *prometheus.Registry
	match    prometheus.Gauge
	visits   *prometheus.CounterVec
	last     prometheus.Gauge
	seconds  prometheus.Gauge
	elements *prometheus.GaugeVec
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
		webhooks: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "standin_canary_webhook_failures_total", Help: "Webhooks that failed in all attempts.",
		}),
	}
	m.registry.MustRegister(m.match, m.visits, m.last, m.seconds, m.elements, m.webhooks)
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
		for name, candidate := range candidatesOn(report.Steps, step.Screen) {
			m.elements.WithLabelValues(string(step.Screen), name).Set(float64(candidate))
		}
	}
}

// Metrics serves the metrics without authentication.
func (c *Canary) Metrics() http.Handler {
	return promhttp.HandlerFor(c.metrics.registry, promhttp.HandlerOpts{})
}
