package service

import (
	"context"
	"fmt"
	"os"
	"time"

	"standin/internal/dashboard"
)

// systemView describes a service to its operators.
type systemView struct {
	s       *Service
	started time.Time
}

// System implements dashboard.System.
func (v systemView) System(ctx context.Context) dashboard.SystemView {
	view := dashboard.SystemView{Facts: []dashboard.Fact{{Name: "Version", Text: v.s.settings.Tracing.Version}}}
	if name, err := os.Hostname(); err == nil {
		view.Facts = append(view.Facts, dashboard.Fact{Name: "Machine", Text: name})
	}
	view.Facts = append(view.Facts, dashboard.Fact{Name: "Running since", Text: v.started.UTC().Format("2 Jan 2006, 15:04 UTC")})
	view.Facts = append(view.Facts, v.s.Summary(ctx)...)
	if version, own, err := v.s.store.SchemaVersion(ctx); err == nil {
		view.Facts = append(view.Facts, dashboard.Fact{Name: "Schema", Text: fmt.Sprintf("version %d; this program has %d", version, own)})
	}
	for _, check := range v.s.health.checks {
		finding := dashboard.Finding{Check: check.name, State: "ok", Found: "works"}
		if err := v.s.health.failure(check.name); err != nil {
			finding = dashboard.Finding{Check: check.name, State: "fail", Found: err.Error(), Fix: "run standin doctor with the settings of the service"}
		}
		view.Findings = append(view.Findings, finding)
	}
	if v.s.settings.Diagnose != nil {
		view.Findings = append(view.Findings, v.s.settings.Diagnose(ctx)...)
	}
	return view
}
