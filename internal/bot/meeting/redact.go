package meeting

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Redact returns a copy of the snapshots of a visit without what people wrote: names
// are replaced by numbers, also in texts, and messages and the values of fields are
// removed. The copy is classified like the original.
func Redact(captured []CapturedSnapshot) []CapturedSnapshot {
	r := redactor{names: make(map[string]string)}
	for _, one := range captured {
		if name := one.Known.OwnName; name != "" {
			r.names[name] = "Bot"
		}
	}
	for _, one := range captured {
		for _, entry := range slices.Concat(one.Snapshot.Tiles, one.Snapshot.Rows) {
			r.add(entry.Names...)
		}
	}
	redacted := slices.Clone(captured)
	for i := range redacted {
		redacted[i].Known.OwnName = r.text(redacted[i].Known.OwnName)
		redacted[i].Snapshot = r.snapshot(redacted[i].Snapshot)
	}
	return redacted
}

// redactor replaces names.
type redactor struct {
	names map[string]string
}

// add gives names a replacement.
func (r redactor) add(names ...string) {
	for _, name := range names {
		if _, known := r.names[name]; !known && strings.TrimSpace(name) != "" {
			r.names[name] = fmt.Sprintf("Participant %d", len(r.names)+1)
		}
	}
}

// text replaces the names in a text, the longest first.
func (r redactor) text(text string) string {
	byLength := func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) }
	for _, name := range slices.SortedFunc(maps.Keys(r.names), byLength) {
		text = strings.ReplaceAll(text, name, r.names[name])
	}
	return text
}

func (r redactor) texts(texts []string) []string {
	redacted := make([]string, len(texts))
	for i, text := range texts {
		redacted[i] = r.text(text)
	}
	return redacted
}

func (r redactor) snapshot(s Snapshot) Snapshot {
	s.Title, s.LobbyText, s.Chat = r.text(s.Title), r.text(s.LobbyText), nil
	s.Captions = nil
	s.Elements = maps.Clone(s.Elements)
	for name, element := range s.Elements {
		element.Text = r.text(element.Text)
		if element.Value != "" {
			element.Value = "redacted"
		}
		s.Elements[name] = element
	}
	s.Texts = maps.Clone(s.Texts)
	for key, text := range s.Texts {
		s.Texts[key] = r.text(text)
	}
	s.Counts = r.texts(s.Counts)
	s.Outline.Headings, s.Outline.Notices, s.Outline.Texts = r.texts(s.Outline.Headings), r.texts(s.Outline.Notices), r.texts(s.Outline.Texts)
	s.Outline.Buttons, s.Outline.Fields = r.controls(s.Outline.Buttons), r.controls(s.Outline.Fields)
	if s.Over != nil {
		over := *s.Over
		over.Text, over.Buttons = r.text(over.Text), slices.Clone(over.Buttons)
		for i := range over.Buttons {
			over.Buttons[i].Label = r.text(over.Buttons[i].Label)
		}
		s.Over = &over
	}
	s.Tiles, s.Rows = r.entries(s.Tiles), r.entries(s.Rows)
	return s
}

func (r redactor) controls(controls []OutlineControl) []OutlineControl {
	redacted := slices.Clone(controls)
	for i := range redacted {
		redacted[i].Label = r.text(redacted[i].Label)
	}
	return redacted
}

func (r redactor) entries(entries []RosterEntry) []RosterEntry {
	redacted := slices.Clone(entries)
	for i := range redacted {
		entry := &redacted[i]
		entry.ID, entry.Names, entry.MarkText = r.text(entry.ID), r.texts(entry.Names), r.text(entry.MarkText)
		if entry.Mark != nil {
			mark := r.text(*entry.Mark)
			entry.Mark = &mark
		}
	}
	return redacted
}
