package bot

import (
	"strings"
	"testing"

	"standin/internal/bot/meeting"
	"standin/internal/ingest"
)

// TestFindParticipant: by the roster's id, else by a name that is clear.
func TestFindParticipant(t *testing.T) {
	t.Parallel()
	there := []meeting.Participant{{ID: "p1", Name: "Ada Quill"}, {ID: "p2", Name: "Ben Okafor"}, {ID: "p3", Name: "Ben Okafor"}}
	for name, test := range map[string]struct{ id, name, want string }{
		"by id":                       {"p2", "", "p2"},
		"by id, whatever the name":    {"p2", "Ada Quill", "p2"},
		"by name":                     {"", "ada quill", "p1"},
		"by name, for the id is gone": {"p9", "Ada Quill", "p1"},
		"by a name that two have":     {"", "Ben Okafor", ""},
		"nobody":                      {"p9", "Cleo Marsh", ""},
		"nothing":                     {"", "", ""},
	} {
		got, err := findParticipant(there, test.id, test.name)
		if got.ID != test.want || (err == nil) != (test.want != "") {
			t.Errorf("%s: %+v (%v), want %q", name, got, err, test.want)
		}
	}
	if _, err := findParticipant([]meeting.Participant{{ID: ""}}, "", ""); err == nil {
		t.Error("somebody without id and name was found by nothing")
	}
}

// TestEvidenceNames may be uploaded, and are taken for no part of a recording.
func TestEvidenceNames(t *testing.T) {
	t.Parallel()
	for _, extension := range []string{"png", "txt"} {
		name := evidenceName(17, extension)
		if _, _, segment := ingest.ParseSegmentName(name); segment || !ingest.ValidMediaName(name) || strings.HasSuffix(name, ".mp4") {
			t.Errorf("%s is no name for evidence", name)
		}
	}
}

// TestWithoutSecrets: passcodes stand behind the path.
func TestWithoutSecrets(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"https://zoom.test/wc/123/join?pwd=secret&tk=secret": "https://zoom.test/wc/123/join",
		"https://teams.test/v2/?x=1#/meet/1?p=secret":        "https://teams.test/v2/",
		"https://user:secret@meet.test/abc":                  "https://meet.test/abc",
		"about:blank":                                        "about:blank",
		"%":                                                  "",
	} {
		if got := withoutSecrets(address); got != want {
			t.Errorf("%s is kept as %s", address, got)
		}
	}
}
