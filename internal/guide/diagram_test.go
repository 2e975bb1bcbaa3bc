package guide

import (
	"strings"
	"testing"
)

// TestDrawDiagrams checks that a state diagram becomes a drawing and a list, and that
// other code stays.
func TestDrawDiagrams(t *testing.T) {
	t.Parallel()
	rendered, err := render([]byte("# Title\n\n```mermaid\nstateDiagram-v2\n    [*] --> a\n    a --> b: go < on\n    b --> a\n    b --> [*]\n```\n\n```go\nx\n```\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	page := string(rendered.body)
	for text, want := range map[string]int{
		"<svg": 1, "<rect": 2, `class="arc"`: 2, "<li>": 2, "go &lt; on": 1, "language-mermaid": 0, "language-go": 1,
	} {
		if count := strings.Count(page, text); count != want {
			t.Errorf("%q is %d times in %s", text, count, page)
		}
	}
}

// TestStatesAreDrawn checks the diagram of the documentation.
func TestStatesAreDrawn(t *testing.T) {
	t.Parallel()
	page := string(build(t).files["states.html"])
	if !strings.Contains(page, "<svg class=\"states\"") || strings.Count(page, `class="arc"`) < 15 {
		t.Error("the states are not drawn")
	}
}
