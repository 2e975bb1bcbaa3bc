package dashboard

import (
	"regexp"
	"slices"
	"strings"

	"standin/internal/jobs/job"
)

// matchGroup are the matches of a search in one meeting.
type matchGroup struct {
	job.SearchMatch // the first one
	Passages        []passage
}

// passage is a passage with the words that were searched.
type passage struct {
	job.SearchMatch
	Parts []textPart
}

// textPart is a part of a text.
type textPart struct {
	Text   string
	Marked bool // it is a word that was searched
}

// Groups returns the matches by meeting, in the order of the first match of each.
func (v searchView) Groups() (groups []matchGroup) {
	for _, match := range v.Matches {
		at := slices.IndexFunc(groups, func(group matchGroup) bool { return group.JobID == match.JobID })
		if at < 0 {
			at = len(groups)
			groups = append(groups, matchGroup{SearchMatch: match})
		}
		groups[at].Passages = append(groups[at].Passages, passage{match, markWords(match.Text, v.Query)})
	}
	return groups
}

// wordPattern matches a word.
var wordPattern = regexp.MustCompile(`[\p{L}\p{N}]+`)

// markWords splits a text into parts, and marks the words that begin with one of the query.
func markWords(text, query string) (parts []textPart) {
	searched := wordPattern.FindAllString(strings.ToLower(query), -1)
	end := 0
	for _, at := range wordPattern.FindAllStringIndex(text, -1) {
		word := strings.ToLower(text[at[0]:at[1]])
		if !slices.ContainsFunc(searched, func(start string) bool { return strings.HasPrefix(word, start) }) {
			continue
		}
		if at[0] > end {
			parts = append(parts, textPart{Text: text[end:at[0]]})
		}
		parts = append(parts, textPart{text[at[0]:at[1]], true})
		end = at[1]
	}
	if end < len(text) {
		parts = append(parts, textPart{Text: text[end:]})
	}
	return parts
}
