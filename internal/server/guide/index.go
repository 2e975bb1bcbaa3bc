package guide

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// entry is what the search finds: a part of a page, a command or an operation of the API.
type entry struct {
	Kind    string `json:"kind"` // Guide, Command or API
	Page    string `json:"page"` // path from the guide
	Title   string `json:"title"`
	Heading string `json:"heading"`
	Anchor  string `json:"anchor"`
	Text    string `json:"text"`
}

// commandsPage is the page whose parts are commands.
const commandsPage = "reference/commands"

// referencePage is the path from the guide to the API reference.
const referencePage = "../../docs"

// index returns the entries of the search.
func (s *Site) index(documents map[string]document, description []byte) ([]entry, error) {
	var entries []entry
	for _, name := range s.pages {
		for _, part := range documents[name].parts {
			kind := "Guide"
			if name == commandsPage && strings.HasPrefix(part.Heading, "standin ") {
				kind = "Command"
			}
			entries = append(entries, entry{kind, name + ".html", documents[name].title, part.Heading, part.Anchor, part.Text})
		}
	}
	operations, err := operations(description)
	return append(entries, operations...), err
}

// operations returns the operations of an API description. An anchor is that of the page with the
// reference.
func operations(description []byte) ([]entry, error) {
	if description == nil {
		return nil, nil
	}
	type operation struct {
		OperationID          string
		Summary, Description string
		Tags                 []string
	}
	var parsed struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(description, &parsed); err != nil {
		return nil, fmt.Errorf("read the API description: %w", err)
	}
	var entries []entry
	for _, path := range slices.Sorted(maps.Keys(parsed.Paths)) {
		for _, method := range []string{"get", "post", "put", "patch", "delete", "head"} {
			text, exists := parsed.Paths[path][method]
			if !exists {
				continue
			}
			var one operation
			if err := json.Unmarshal(text, &one); err != nil {
				return nil, fmt.Errorf("read %s %s of the API description: %w", method, path, err)
			}
			if len(one.Tags) == 0 {
				continue
			}
			call := strings.ToUpper(method) + " " + path
			entries = append(entries, entry{
				Kind: "API", Page: referencePage, Title: call, Heading: one.Summary,
				Anchor: "tag/" + one.Tags[0] + "/operation/" + one.OperationID, Text: call + ". " + strings.Join(strings.Fields(one.Description), " "),
			})
		}
	}
	return entries, nil
}
