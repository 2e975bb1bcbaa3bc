package pagecheck

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"standin/internal/bot/browser"
	"standin/internal/bot/capture"
	"standin/internal/bot/meeting"
	"standin/internal/jobs/job"
	"standin/internal/replica"
	"standin/internal/testing/testbrowser"
)

// TestLearnWithoutRoles checks that a join control without a role is proposed, whatever
// makes it one, and nothing that is known to be something else.
func TestLearnWithoutRoles(t *testing.T) {
	t.Parallel()
	settings, _ := pageSettings(t, replica.Settings{})
	running := testbrowser.Launch(t, browser.Options{LoopbackPeers: true})
	profiles, err := meeting.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	decoys := []string{"Other ways to join", "Backgrounds and effects", "Sign in", "Report a problem"}
	labels, err := json.Marshal(decoys)
	if err != nil {
		t.Fatal(err)
	}
	for name, control := range map[string]string{
		"focus":    `control.tabIndex = 0`,
		"listener": `control.addEventListener("click", () => {})`,
		"cursor":   `control.style.cursor = "pointer"`,
		"nothing":  `control.title = "Enter"`,
	} {
		t.Run(name, func(t *testing.T) {
			page, err := open(t.Context(), running, settings.URL)
			if err != nil {
				t.Fatal(err)
			}
			defer page.Close()
			if _, err := watch(t.Context(), page, profiles[job.Meet], settings.Wait); err != nil {
				t.Fatal(err)
			}
			if err := page.EvalInPage(t.Context(), fmt.Sprintf(`(() => {
				const join = [...document.querySelectorAll("button")].find(one => one.textContent.includes("Ask to join"));
				const add = (tag, label) => {
					const added = document.createElement(tag);
					added.append(document.createElement("span"));
					added.firstChild.textContent = label;
					join.after(added);
					return added;
				};
				const control = add("div", "Enter the call");
				%s;
				for (const label of %s) add("button", label);
				control.setAttribute("data-standin-click", "a page may write it");
				join.remove();
			})()`, control, labels), nil); err != nil {
				t.Fatal(err)
			}
			made, _ := capture.New(t.Context(), page, capture.Visit{Platform: job.Meet, Profile: profiles[job.Meet], Log: new(capture.Log)}, "test")
			encoded, err := made.Encode()
			file := filepath.Join(t.TempDir(), "capture.zip")
			if err != nil || os.WriteFile(file, encoded, 0o600) != nil {
				t.Fatal(err)
			}
			learned, err := Learn(t.Context(), LearnSettings{ReplaySettings: ReplaySettings{File: file, Browser: settings.Browser}})
			if err != nil {
				t.Fatal(err)
			}
			if learned.Screen != meeting.PreJoin || !slices.Contains(learned.Texts, "Enter the call") {
				t.Errorf("the screen %s has the texts %q", learned.Screen, learned.Texts)
			}
			if len(learned.Missing) != 1 || learned.Missing[0].Element != "joinButton" {
				t.Fatalf("missing: %+v", learned.Missing)
			}
			proposals := learned.Missing[0].Proposals
			for _, proposal := range proposals {
				if slices.Contains(decoys, proposal.Name) {
					t.Errorf("%s is proposed", proposal.Name)
				}
			}
			best := proposals[0]
			if found := best.Name == "Enter the call"; found != (name != "nothing") {
				t.Errorf("the best proposal is %+v", best)
			} else if found && !slices.ContainsFunc(best.Candidates, func(c Candidate) bool { return c.Text == best.Name && c.Matches == 1 }) {
				t.Errorf("the candidates are %+v", best.Candidates)
			}
		})
	}
}
