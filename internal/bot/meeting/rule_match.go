package meeting

import (
	"fmt"
	"slices"
	"strings"
)

// permission returns the host's answer that a snapshot shows.
func (p *Profile) permission(snapshot Snapshot) Permission {
	for _, answer := range []Permission{Refused, Granted} {
		if _, ok := matchAny(p.Permission[answer], snapshot, History{}); ok {
			return answer
		}
	}
	return NoAnswer
}

// matchAny returns the evidence of the first rule that matches.
func matchAny(rules []Rule, snapshot Snapshot, past History) (Evidence, bool) {
	for _, rule := range rules {
		if evidence, ok := rule.match(snapshot, past); ok {
			return evidence, true
		}
	}
	return Evidence{}, false
}

// match reports whether all conditions of a rule hold, and its evidence. Its kind
// is that of the condition that says most.
func (r Rule) match(snapshot Snapshot, past History) (Evidence, bool) {
	if r.Admitted != nil && *r.Admitted != past.Admitted {
		return Evidence{}, false
	}
	evidence := Evidence{Where: r.path, Weight: minWeight}
	if r.Weak {
		evidence.Weight = weakWeight
	}
	var found []string
	add := func(kind EvidenceKind, what string) {
		found = append(found, what)
		evidence.Kind = kind
	}
	if len(r.Elements) > 0 {
		var visible []string
		for _, name := range r.Elements {
			if snapshot.Visible(name) {
				visible = append(visible, name)
			}
		}
		if len(visible) < max(r.AtLeast, 1) {
			return Evidence{}, false
		}
		add(EvidenceElement, "element "+strings.Join(visible, ", "))
	}
	if len(r.Hosts) > 0 {
		if !slices.Contains(r.Hosts, snapshot.Host) {
			return Evidence{}, false
		}
		add(EvidenceAddress, "host "+snapshot.Host)
	}
	if len(r.Paths) > 0 {
		if !slices.ContainsFunc(r.Paths, func(start string) bool { return strings.HasPrefix(snapshot.Path, start) }) {
			return Evidence{}, false
		}
		add(EvidenceAddress, "path "+snapshot.Path)
	}
	if len(r.Titles) > 0 {
		title := strings.TrimSpace(snapshot.Title)
		if !slices.ContainsFunc(r.Titles, func(wanted string) bool { return strings.EqualFold(wanted, title) }) {
			return Evidence{}, false
		}
		add(EvidenceTitle, fmt.Sprintf("title %q", title))
	}
	for _, condition := range r.Text {
		text := snapshot.Texts[condition.key]
		if text == "" && slices.Contains(condition.In, messageRegion) {
			texts, _ := snapshot.Outline.messages()
			if i := slices.IndexFunc(texts, condition.matches); i >= 0 {
				text = texts[i]
			}
		}
		if text == "" {
			return Evidence{}, false
		}
		add(EvidenceText, fmt.Sprintf("text %q", text))
	}
	if slices.ContainsFunc(r.Unless, snapshot.Visible) {
		return Evidence{}, false
	}
	evidence.What = strings.Join(found, "; ")
	return evidence, true
}
