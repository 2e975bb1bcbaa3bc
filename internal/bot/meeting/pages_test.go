package meeting

import (
	"errors"
	"strings"
	"testing"

	"standin/internal/bot/browser"
	"standin/internal/jobs/job"
)

// TestPeopleListIsHidden checks that the list of people is transparent while it is read,
// and closed afterwards.
func TestPeopleListIsHidden(t *testing.T) {
	t.Parallel()
	ctx, running := launchBrowser(t)
	page := openDocument(t, ctx, running, `<main>`+ownTile+`</main>`+callBar+
		`<button aria-label="People - 3 joined" onclick="toggle()">p</button><script>
		window.toggle = () => {
			const old = document.getElementById("panel");
			if (old) { old.remove(); return; }
			document.body.insertAdjacentHTML("beforeend", '<aside id=panel><div role=list aria-label="Mitwirkende">' + ["Standin", "Ada", "Ben"].map(name =>
				'<div role=listitem aria-label="' + name + '"><span class=notranslate>' + name + '</span></div>').join("") + '</div></aside>');
			setTimeout(() => { if (getComputedStyle(document.getElementById("panel")).opacity > 0.01) document.title = "seen"; });
		};</script>`)
	site := siteOf(t, job.Meet)
	site.visit.past, site.visit.last = History{OwnName: "Standin", Requested: true, Admitted: true}, InMeeting
	if err := site.ReadPeople(ctx, page); err != nil {
		t.Fatal(err)
	}
	seen, err := site.Observe(ctx, page)
	if err != nil {
		t.Fatal(err)
	}
	wantPeople(t, seen, 2, "Ada", "Ben")
	var state string
	if err := page.EvalInPage(ctx, `document.title + (document.getElementById("panel") ? ", open" : "")`, &state); err != nil ||
		state != "Meet" {
		t.Errorf("the list is %q, %v", state, err)
	}
}

// TestProbeNamesABadSelector checks that the error for a selector that only a
// browser can reject names it.
func TestProbeNamesABadSelector(t *testing.T) {
	t.Parallel()
	profile, err := ParseProfile("custom.yaml", []byte(strings.Replace(small, "css: button", "css: 'button:no-such'", 1)))
	if err != nil {
		t.Fatal(err)
	}
	ctx, running := launchBrowser(t)
	_, err = profile.Snapshot(ctx, openDocument(t, ctx, running, ""))
	var script *browser.ScriptError
	if !errors.As(err, &script) || !strings.Contains(err.Error(), "button:no-such") {
		t.Errorf("error = %v; want a ScriptError that names the selector", err)
	}
}
