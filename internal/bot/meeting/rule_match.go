package meeting

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// history is what earlier snapshots of a visit established.
type history struct {
	ownName   string        // under which the bot joined; empty when unknown
	requested bool          // the join button was pressed
	admitted  bool          // the meeting was observed, with proof
	aloneFor  time.Duration // the page has looked like a call without others
	joinedFor time.Duration // the join button has been disabled after it was pressed
}

// classification is the screen that a snapshot shows.
type classification struct {
	screen   Screen
	evidence string // for people
	reload   bool   // the page does not change unless it is loaded again
}

// permission returns the host's answer that a snapshot shows.
func (p *Profile) permission(snapshot Snapshot) Permission {
	for _, answer := range []Permission{Refused, Granted} {
		if _, ok := matchAny(p.Permission[answer], snapshot, history{}); ok {
			return answer
		}
	}
	return NoAnswer
}

// recorded reports whether the platform shows that the meeting is being
// recorded.
func (p *Profile) recorded(snapshot Snapshot) bool {
	_, ok := matchAny(p.Recorded, snapshot, history{})
	return ok
}

// matchAny returns the evidence of the first rule that matches.
func matchAny(rules []Rule, snapshot Snapshot, past history) (evidence string, ok bool) {
	for _, rule := range rules {
		if evidence, ok := rule.match(snapshot, past); ok {
			return evidence, true
		}
	}
	return "", false
}

// minWeight is the evidence that a screen needs: one rule that is unmistakable,
// or two weak ones.
const minWeight = 2

// weight returns the evidence that the rule contributes.
func (r Rule) weight() int {
	if r.Weak {
		return 1
	}
	return minWeight
}

// match reports whether all conditions of a rule hold, and its evidence.
func (r Rule) match(snapshot Snapshot, past history) (evidence string, ok bool) {
	if r.Admitted != nil && *r.Admitted != past.admitted {
		return "", false
	}
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
