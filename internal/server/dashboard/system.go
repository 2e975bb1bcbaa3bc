package dashboard

import (
	"context"
)

// System describes this node, for operators.
type System interface {
	System(ctx context.Context) SystemView
}

// SystemView is what a node is, and what it needs and finds.
type SystemView struct {
	Facts    []Fact
	Findings []Finding
}

// Fact is a property of a node.
type Fact struct{ Name, Text string }

// Finding is the result of a check.
type Finding struct {
	Check string
	State string // "ok", "warn" or "fail"
	Found string
	Fix   string // empty when the state is ok
}

// Tone returns the CSS class of the state.
func (f Finding) Tone() string {
	return map[string]string{"ok": "good", "warn": "busy", "fail": "bad"}[f.State]
}

// systemPage shows the node that serves the request.
func (d *Dashboard) systemPage(req *pageRequest) error {
	return req.show("system", "System", d.System.System(req.Context()))
}
