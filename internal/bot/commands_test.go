package bot

import (
	"testing"

	"standin/internal/bot/meeting"
)

// TestFindParticipant finds by id, or else by an unambiguous name.
func TestFindParticipant(t *testing.T) {
	t.Parallel()
	participants := []meeting.Participant{{ID: "p1", Name: "Ada Quill"}, {ID: "p2", Name: "Ben Okafor"}, {ID: "p3", Name: "Ben Okafor"}}
	for name, test := range map[string]struct{ id, name, want string }{
		"by id":                    {"p2", "", "p2"},
		"by id, with another name": {"p2", "Ada Quill", "p2"},
		"by name":                  {"", "ada quill", "p1"},
		"by name, unknown id":      {"p9", "Ada Quill", "p1"},
		"by an ambiguous name":     {"", "Ben Okafor", ""},
		"unknown id and name":      {"p9", "Cleo Marsh", ""},
		"neither":                  {"", "", ""},
	} {
		got, err := findParticipant(participants, test.id, test.name)
		if got.ID != test.want || (err == nil) != (test.want != "") {
			t.Errorf("%s: %+v (%v), want %q", name, got, err, test.want)
		}
	}
	if _, err := findParticipant([]meeting.Participant{{ID: ""}}, "", ""); err == nil {
		t.Error("an empty id and name match a participant without both")
	}
}
