package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
)

// maxTreeFrames limits the frames whose accessibility trees are read.
const maxTreeFrames = 20

// AccessibilityNode is a node of a page's accessibility tree.
type AccessibilityNode struct {
	Depth  int // 0 for the root of a frame
	Role   string
	Name   string
	States []string // such as disabled, checked=true
}

// AccessibilityTree returns the accessibility trees of the page and its frames in
// this process, in document order, without the nodes that assistive technology
// ignores.
func (p *Page) AccessibilityTree(ctx context.Context) ([]AccessibilityNode, error) {
	var nodes []AccessibilityNode
	err := p.call(ctx, func(ctx context.Context) error {
		tree, err := cdp.Call(ctx, p.session, page.GetFrameTree, cdp.Empty{})
		if err != nil {
			return err
		}
		for i, frame := range frameIDs(tree.FrameTree) {
			if i == maxTreeFrames {
				break
			}
			answer, err := cdp.Call(ctx, p.session, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{FrameID: frame})
			if err != nil && i > 0 {
				continue // the frame is in another process, or gone
			}
			if err != nil {
				return err
			}
			nodes = append(nodes, flatten(answer.Nodes)...)
		}
		return nil
	})
	return nodes, err
}

// frameIDs returns the ids of a frame and the frames in it.
func frameIDs(tree *page.FrameTree) []cdp.FrameID {
	ids := []cdp.FrameID{tree.Frame.ID}
	for _, inner := range tree.ChildFrames {
		ids = append(ids, frameIDs(inner)...)
	}
	return ids
}

// flatten returns the nodes of a tree in document order.
func flatten(nodes []*accessibility.Node) []AccessibilityNode {
	byID := make(map[accessibility.NodeID]*accessibility.Node, len(nodes))
	for _, node := range nodes {
		byID[node.NodeID] = node
	}
	states := []accessibility.PropertyName{
		accessibility.PropertyNameDisabled, accessibility.PropertyNameChecked, accessibility.PropertyNamePressed,
		accessibility.PropertyNameExpanded, accessibility.PropertyNameSelected, accessibility.PropertyNameModal,
	}
	var flat []AccessibilityNode
	var walk func(node *accessibility.Node, depth int)
	walk = func(node *accessibility.Node, depth int) {
		delete(byID, node.NodeID) // a tree with a cycle ends
		role := textOf(node.Role)
		if !node.Ignored && role != "InlineTextBox" {
			shown := AccessibilityNode{Depth: depth, Role: role, Name: textOf(node.Name)}
			for _, property := range node.Properties {
				if slices.Contains(states, property.Name) {
					shown.States = append(shown.States, fmt.Sprintf("%s=%s", property.Name, textOf(property.Value)))
				}
			}
			flat = append(flat, shown)
			depth++
		}
		for _, child := range node.ChildIDs {
			if found := byID[child]; found != nil {
				walk(found, depth)
			}
		}
	}
	for _, node := range nodes {
		if node.ParentID == "" && byID[node.NodeID] != nil {
			walk(node, 0)
		}
	}
	return flat
}

// textOf returns a value of a node as text.
func textOf(value *accessibility.Value) string {
	if value == nil {
		return ""
	}
	var text string
	if err := json.Unmarshal(value.Value, &text); err == nil {
		return text
	}
	return string(value.Value)
}
