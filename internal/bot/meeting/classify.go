package meeting

import (
	"fmt"
	"slices"
	"strings"
)

// errorScheme is the scheme of the page that Chromium shows in place of one
// that it could not load.
const errorScheme = "chrome-error:"

// Classify returns the screen that a snapshot shows, and its evidence. The
// screen is Unknown unless a rule of the profile matches.
func (p *Profile) Classify(snapshot Snapshot) (Screen, string) {
	if snapshot.Scheme == errorScheme {
		return CannotConnect, "the browser's own error page"
	}
	for _, screen := range Screens() {
		if evidence, ok := matchAny(p.Screens[screen], snapshot); ok {
			return screen, evidence
		}
	}
	return Unknown, ""
}

// permission returns the host's answer that a snapshot shows.
func (p *Profile) permission(snapshot Snapshot) Permission {
	for _, answer := range []Permission{Refused, Granted} {
		if _, ok := matchAny(p.Permission[answer], snapshot); ok {
			return answer
		}
	}
	return NoAnswer
}

// recorded reports whether the platform shows that the meeting is being
// recorded.
func (p *Profile) recorded(snapshot Snapshot) bool {
	_, ok := matchAny(p.Recorded, snapshot)
	return ok
}

// matchAny returns the evidence of the first rule that matches.
func matchAny(rules []Rule, snapshot Snapshot) (evidence string, ok bool) {
	for _, rule := range rules {
		if evidence, ok := rule.match(snapshot); ok {
			return evidence, true
		}
	}
	return "", false
}

// match reports whether all conditions of a rule hold, and its evidence.
func (r Rule) match(snapshot Snapshot) (evidence string, ok bool) {
	var found []string
	if len(r.Hosts) > 0 {
		if !slices.Contains(r.Hosts, snapshot.Host) {
			return "", false
		}
		found = append(found, "host "+snapshot.Host)
	}
	if len(r.Titles) > 0 {
		title := strings.TrimSpace(snapshot.Title)
		if !slices.ContainsFunc(r.Titles, func(wanted string) bool { return strings.EqualFold(wanted, title) }) {
			return "", false
		}
		found = append(found, fmt.Sprintf("title %q", title))
	}
	for _, condition := range r.Text {
		text := snapshot.Texts[condition.key]
		if text == "" {
			return "", false
		}
		found = append(found, fmt.Sprintf("text %q", text))
	}
	if len(r.Elements) > 0 {
		var visible []string
		for _, name := range r.Elements {
			if snapshot.Visible(name) {
				visible = append(visible, name)
			}
		}
		if len(visible) < max(r.AtLeast, 1) {
			return "", false
		}
		found = append(found, "element "+strings.Join(visible, ", "))
	}
	if slices.ContainsFunc(r.Unless, snapshot.Visible) {
		return "", false
	}
	return strings.Join(found, "; "), true
}
