package capture

import (
	"bytes"
	"fmt"
	"strings"

	"standin/internal/bot/browser"
)

// maxTreeNodes and maxTreeDepth limit the accessibility tree.
const maxTreeNodes, maxTreeDepth = 3000, 40

// describeTree returns the accessibility tree as text, one node per line, indented
// by its depth. It keeps the names that are among the texts of the page outside of
// what participants wrote.
func describeTree(nodes []browser.AccessibilityNode, clean *sanitizer, texts []string) []byte {
	known := make(map[string]bool, len(texts))
	for _, text := range texts {
		known[text] = true
	}
	var b bytes.Buffer
	for i, node := range nodes {
		if i == maxTreeNodes {
			b.WriteString("…\n")
			break
		}
		fmt.Fprintf(&b, "%s%s", strings.Repeat("  ", min(node.Depth, maxTreeDepth)), node.Role)
		if name := strings.Join(strings.Fields(clean.text(node.Name)), " "); name != "" {
			if !known[name] {
				name = clean.withoutOthers(name)
			}
			fmt.Fprintf(&b, " %q", name)
		}
		for _, state := range node.States {
			b.WriteString(" " + state)
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}
