package browser_test

import (
	"errors"
	"testing"

	"standin/internal/bot/browser"
)

// A dialog that opens while the mouse moves must not receive the click.
func TestClickDoesNotHitCoveringElement(t *testing.T) {
	t.Parallel()
	ctx := limited(t)
	p, _ := openPage(t, ctx, shared.use(t), `
		<style>button, iframe, .over { position: fixed; left: 200px; width: 300px; height: 80px; border: 0 } label { display: block }</style>
		<button id=target style="top: 100px" onclick="clicks.push('target')">Got it</button>
		<iframe id=frame style="top: 300px" srcdoc="<button onclick='parent.clicks.push(&quot;framed&quot;)' style='width: 300px; height: 80px'>in</button>"></iframe>
		<button id=parted style="top: 500px" onclick="clicks.push('parted')"><span>a part</span></button>
		<label style="position: fixed; top: 620px; left: 200px"><input id=box type=checkbox onclick="clicks.push('box')">its label</label>
		<script>
			window.clicks = [];
			window.coverOnMove = (top, where) => where.addEventListener("mousemove", () => {
				const over = document.createElement("button");
				over.className = "over";
				over.style.top = top + "px";
				over.textContent = "OK";
				for (const kind of ["pointerdown", "mousedown", "mouseup", "click"]) over.addEventListener(kind, () => clicks.push("over"));
				document.body.append(over);
			}, {once: true});
		</script>`)
	uncover := `document.querySelectorAll(".over").forEach(over => over.remove())`
	inFrame := `document.querySelector("#frame").contentDocument.querySelector("button")`
	for _, test := range []struct {
		name, first, element, want string
	}{
		{"not covered", "0", `document.querySelector("#target")`, "target"},
		{"child of the element", "0", `document.querySelector("#parted")`, "parted"},
		{"checkbox with label", "0", `document.querySelector("#box")`, "box"},
		{"in a frame", "0", inFrame, "framed"},
		{"covered by a button", "coverOnMove(100, document)", `document.querySelector("#target")`, ""},
		{"uncovered", uncover, `document.querySelector("#target")`, "target"},
		{"frame covered by a button", `coverOnMove(300, document.querySelector("#frame").contentDocument)`, inFrame, ""},
	} {
		var clicks []string
		if err := p.EvalInPage(ctx, "clicks.length = 0, "+test.first+", 0", nil); err != nil {
			t.Fatal(err)
		}
		err := p.ClickElement(ctx, test.element)
		if failed := p.EvalInPage(ctx, "clicks", &clicks); failed != nil {
			t.Fatal(failed)
		}
		var missed *browser.ElementError
		switch {
		case test.want == "" && (!errors.As(err, &missed) || !missed.Covered || len(clicks) > 0):
			t.Errorf("%s: ClickElement = %v, clicks %q; want none, and an ElementError with Covered", test.name, err, clicks)
		case test.want != "" && (err != nil || len(clicks) != 1 || clicks[0] != test.want):
			t.Errorf("%s: ClickElement = %v, clicks %q; want one on %s", test.name, err, clicks, test.want)
		}
	}

	// Later clicks are not filtered.
	if err := p.EvalInPage(ctx, uncover, nil); err != nil {
		t.Fatal(err)
	}
	if err := p.ClickAt(ctx, 350, 140); err != nil {
		t.Fatal(err)
	}
	var clicks []string
	if err := p.EvalInPage(ctx, "clicks", &clicks); err != nil || len(clicks) != 1 || clicks[0] != "target" {
		t.Errorf("a later click: clicks %q, %v", clicks, err)
	}
}
