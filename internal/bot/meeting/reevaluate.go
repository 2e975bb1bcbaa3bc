package meeting

import (
	"reflect"
	"slices"
	"strings"
)

// For returns a snapshot that was read with one profile as another profile evaluates
// it. A snapshot holds no document, so that new candidates of elements are not
// searched. Texts that only the other profile has are searched in the outline.
func (s Snapshot) For(from, to *Profile) Snapshot {
	known, texts := from.textConditions(), make(map[string]string)
	for _, wanted := range to.textConditions() {
		if i := slices.IndexFunc(known, wanted.equal); i >= 0 {
			if text := s.Texts[known[i].key]; text != "" {
				texts[wanted.key] = text
			}
			continue
		}
		searched := s.Outline.all()
		if slices.Equal(wanted.In, []string{"headings"}) {
			searched = s.Outline.Headings
		}
		if i := slices.IndexFunc(searched, wanted.matches); i >= 0 {
			texts[wanted.key] = searched[i]
		}
	}
	s.Texts = texts
	visible, hidden := make(map[string]VisibleElement), make(map[string]int)
	for name, found := range s.Elements {
		if i := candidateFor(from.Elements[name], to.Elements[name], found.Candidate, &found.Text); i >= 0 {
			found.Candidate = i
			visible[name] = found
		}
	}
	for name, found := range s.Hidden {
		if i := candidateFor(from.Elements[name], to.Elements[name], found, nil); i >= 0 {
			hidden[name] = i
		}
	}
	s.Elements, s.Hidden = visible, hidden
	s.LobbyText = s.anywhereFor(s.LobbyText, from.Admission.LobbyTexts, to.Admission.LobbyTexts)
	s.HostText = s.anywhereFor(s.HostText, from.Admission.HostTexts, to.Admission.HostTexts)
	return s
}

// TextsOutside returns the texts of a snapshot that meet conditions which another profile lacks, but stand in none of their
// regions, by the path of the condition.
func (p *Profile) TextsOutside(snapshot Snapshot, other *Profile) map[string]string {
	outside, known, shown := make(map[string]string), other.textConditions(), snapshot.Outline.all()
	for _, wanted := range p.textConditions() {
		i := slices.IndexFunc(shown, wanted.matches)
		if i >= 0 && snapshot.Texts[wanted.key] == "" && !slices.ContainsFunc(known, wanted.equal) {
			outside[wanted.key] = shown[i]
		}
	}
	return outside
}

// anywhereFor returns the text of the whole page that other texts find, which were
// searched for as from.
func (s Snapshot) anywhereFor(known string, from, to TextMatch) string {
	if reflect.DeepEqual(to, from) {
		return known
	}
	found := slices.Concat([]string{known}, s.Outline.all())
	if i := slices.IndexFunc(found, to.matches); i >= 0 {
		return found[i]
	}
	return ""
}

// candidateFor returns the index of the candidate of an element that finds what the
// candidate found of the element in another profile, or -1. Without a text, only
// the selectors are compared.
func candidateFor(from, to Element, found int, text *string) int {
	if found < 0 || found >= len(from) {
		return -1
	}
	before := from[found]
	if i := slices.IndexFunc(to, func(c Candidate) bool { return reflect.DeepEqual(c, before) }); i >= 0 {
		return i
	}
	return slices.IndexFunc(to, func(c Candidate) bool {
		return c.CSS == before.CSS && (c.Text == nil || text == nil || c.Text.matches(*text) ||
			before.Text != nil && c.Text.includes(*before.Text))
	})
}

// all returns all texts of an outline.
func (o Outline) all() []string { return slices.Concat(o.Headings, o.Notices, o.Texts) }

// equal reports whether two conditions require the same.
func (c TextCondition) equal(other TextCondition) bool {
	return slices.Equal(c.In, other.In) && reflect.DeepEqual(c.TextMatch, other.TextMatch)
}

// matches reports whether a text meets one of the conditions.
func (m TextMatch) matches(text string) bool {
	text = fold(text)
	meets := func(wanted []string, holds func(text, wanted string) bool) bool {
		return slices.ContainsFunc(wanted, func(phrase string) bool { return holds(text, fold(phrase)) })
	}
	return text != "" && (meets(m.Equals, func(a, b string) bool { return a == b }) || meets(m.StartsWith, strings.HasPrefix) ||
		meets(m.Contains, strings.Contains))
}

// includes reports whether the conditions include all others.
func (m TextMatch) includes(other TextMatch) bool {
	within := func(all, part []string) bool {
		return !slices.ContainsFunc(part, func(item string) bool { return !slices.Contains(all, item) })
	}
	return within(m.Equals, other.Equals) && within(m.StartsWith, other.StartsWith) && within(m.Contains, other.Contains)
}
