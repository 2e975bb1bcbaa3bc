package dashboard

import (
	"standin/internal/jobs/job"
)

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

// systemView is the data of the system page.
type systemView struct {
	SystemView
	Causes []job.CauseCount
}

// systemPage shows the node that serves the request, and why attempts of all nodes failed.
func (d *Dashboard) systemPage(req *pageRequest) (err error) {
	const maxCauses = 50
	shown := systemView{SystemView: d.System(req.Context())}
	shown.Causes, err = d.Jobs.Store.FailureCauses(req.Context(), d.Now(), maxCauses)
	return req.showAfter(err, "system", "System", shown)
}
