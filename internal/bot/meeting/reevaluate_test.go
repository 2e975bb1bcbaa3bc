package meeting

import (
	"testing"

	"standin/internal/jobs/job"
)

// TestSnapshotFor checks that a recorded snapshot is evaluated with the conditions and
// candidates of another profile.
func TestSnapshotFor(t *testing.T) {
	t.Parallel()
	from := siteOf(t, job.Meet).profile
	recorded := showing(t, from, []string{joinButton, nameInput, leaveButton}, "The call ended")
	recorded.Hidden = map[string]int{chatButton: 0}
	recorded.Elements[joinButton] = VisibleElement{Candidate: 0, Text: "Enter the call"}
	recorded.Outline = Outline{Headings: []string{"The gathering is over"}, Texts: []string{"Hold on for the owner"}}

	same := recorded.For(from, from)
	if len(same.Elements) != 3 || len(same.Hidden) != 1 || len(same.Texts) == 0 {
		t.Errorf("the same profile finds %+v, hidden %+v, texts %q", same.Elements, same.Hidden, same.Texts)
	}

	to := *siteOf(t, job.Meet).profile
	to.Elements = map[string]Element{
		joinButton: {{CSS: "button[new]"}, from.Elements[joinButton][0]}, // a new candidate first
		nameInput:  {{CSS: "input[other]"}},                              // the old one removed
		chatButton: from.Elements[chatButton],
	}
	ended := TextCondition{
		In: []string{"headings"}, TextMatch: TextMatch{StartsWith: []string{"the gathering is"}}, key: "screens.ended[0].text[0]",
	}
	body := TextCondition{In: []string{"headings"}, TextMatch: TextMatch{Contains: []string{"owner"}}, key: "screens.denied[0].text[0]"}
	to.Screens = map[Screen][]Rule{Ended: {{Text: []TextCondition{ended}}}, Denied: {{Text: []TextCondition{body}}}}
	to.Admission.LobbyTexts = TextMatch{Contains: []string{"hold on"}}
	changed := recorded.For(from, &to)
	if found := changed.Elements[joinButton]; found.Candidate != 1 {
		t.Errorf("the join button is found by candidate %d, want 1", found.Candidate)
	}
	if changed.Visible(nameInput) || changed.Visible(leaveButton) || !changed.present(chatButton) {
		t.Errorf("elements %+v, hidden %+v", changed.Elements, changed.Hidden)
	}
	if len(changed.Texts) != 1 || changed.Texts[ended.key] != "The gathering is over" {
		t.Errorf("texts %q", changed.Texts)
	}
	if outside := to.TextsOutside(changed, from); len(outside) != 1 || outside[body.key] != "Hold on for the owner" {
		t.Errorf("texts outside their regions %q", outside)
	}
	if changed.LobbyText != "Hold on for the owner" {
		t.Errorf("lobby text %q", changed.LobbyText)
	}
}

// TestCandidateFor checks which candidate of a changed element finds what was found.
func TestCandidateFor(t *testing.T) {
	t.Parallel()
	labels := func(labels ...string) *TextMatch { return &TextMatch{Equals: labels} }
	before := Element{{CSS: "button", Text: labels("Join")}}
	for name, c := range map[string]struct {
		to   Element
		text string
		want int
	}{
		"the same, later":     {Element{{CSS: "a"}, before[0]}, "Join", 1},
		"another label added": {Element{{CSS: "button", Text: labels("Enter", "Join")}}, "Join the call", 0},
		"another label":       {Element{{CSS: "button", Text: labels("Enter")}}, "Join", -1},
		"the label found":     {Element{{CSS: "button", Text: labels("Enter")}}, "enter.", 0},
		"no label":            {Element{{CSS: "button"}}, "Join", 0},
		"another selector":    {Element{{CSS: "a", Text: labels("Join")}}, "Join", -1},
		"no candidates":       {nil, "Join", -1},
	} {
		if got := candidateFor(before, c.to, 0, &c.text); got != c.want {
			t.Errorf("%s: candidate %d, want %d", name, got, c.want)
		}
	}
	if got := candidateFor(before, before, 7, nil); got != -1 {
		t.Errorf("a candidate that the profile of the capture lacks is %d", got)
	}
}
