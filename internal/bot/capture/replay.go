package capture

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"standin/internal/bot/browser"
	"standin/internal/bot/meeting"
)

// restoreScript is a JavaScript function; its comment describes it.
//
//go:embed restore.js
var restoreScript string

const (
	// noNetwork is a proxy that does not exist: a restored page reaches nothing.
	noNetwork    = "127.0.0.1:1"
	readTimeout  = 10 * time.Second
	startTimeout = 60 * time.Second
)

// BrowserSettings choose the browser that restores captured pages.
type BrowserSettings struct {
	Executable string // empty: found on PATH
	NoSandbox  bool
}

// Viewer restores captured pages in a browser without network access.
type Viewer struct {
	browser *browser.Browser
}

// NewViewer starts a browser.
func NewViewer(ctx context.Context, settings BrowserSettings) (*Viewer, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	running, err := browser.Launch(ctx, browser.Options{Executable: settings.Executable, NoSandbox: settings.NoSandbox, Proxy: noNetwork})
	if err != nil {
		return nil, err
	}
	return &Viewer{browser: running}, nil
}

// Close ends the browser.
func (v *Viewer) Close() error { return v.browser.Close() }

// ErrNoPage reports that a capture holds no document.
var ErrNoPage = errors.New("the capture holds no page: the page did not respond when it was made")

// Open restores a captured page. The caller closes the page.
func (v *Viewer) Open(ctx context.Context, c *Capture) (*browser.Page, error) {
	if len(c.Page) == 0 {
		return nil, ErrNoPage
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	page, err := v.browser.NewPage(ctx)
	if err != nil {
		return nil, err
	}
	if c.Width > 0 && c.Height > 0 {
		err = page.SetContentSize(ctx, int(c.Width), int(c.Height))
	}
	if err == nil {
		err = page.Eval(ctx, fmt.Sprintf("(%s)(%s)", restoreScript, encoded(string(c.Page))), nil)
	}
	if err != nil {
		page.Close()
		return nil, fmt.Errorf("restore the captured page: %w", err)
	}
	return page, nil
}

// Step is a snapshot of a replayed visit and what a profile concludes from it.
type Step struct {
	Captured meeting.CapturedSnapshot
	Decision meeting.Decision
	// Restored is set for the captured page itself, whose elements were searched
	// with the profile. Earlier snapshots hold what the profile of the capture found.
	Restored bool
	Outside  map[string]string // Profile.TextsOutside of the captured page
}

// Replay returns what a profile concludes from a capture, step by step. The last
// steps are the captured page, which is read with the profile, at the time of the
// capture and later, because an end counts only when it lasts.
func (v *Viewer) Replay(ctx context.Context, c *Capture, profile *meeting.Profile) ([]Step, error) {
	captured, with := slices.Clone(c.Snapshots), profile
	if len(c.Profile) > 0 {
		var err error
		if with, err = meeting.ParseProfile(profileFile, c.Profile); err != nil {
			return nil, fmt.Errorf("read the profile of the capture: %w", err)
		}
		for i := range captured {
			captured[i].Snapshot = captured[i].Snapshot.For(with, profile)
		}
	}
	earlier := len(captured)
	var outside map[string]string
	page, err := v.Open(ctx, c)
	switch {
	case errors.Is(err, ErrNoPage) && earlier > 0:
	case err != nil:
		return nil, err
	default:
		defer page.Close()
		reading, cancel := context.WithTimeout(ctx, readTimeout)
		defer cancel()
		snapshot, err := profile.Snapshot(reading, page)
		if err != nil {
			return nil, err
		}
		outside = profile.TextsOutside(snapshot, with)
		for _, before := range captured { // which lack the regions
			maps.DeleteFunc(before.Snapshot.Texts, func(path, _ string) bool { return outside[path] != "" })
		}
		last := meeting.CapturedSnapshot{At: c.TakenAt}
		if earlier > 0 {
			last.Known = captured[earlier-1].Known
			snapshot = snapshot.WithLiveState(captured[earlier-1].Snapshot)
		}
		last.Snapshot = snapshot
		for _, later := range []time.Duration{0, meeting.ConfirmTime} {
			last.At = c.TakenAt.Add(later)
			captured = append(captured, last)
		}
	}
	var steps []Step
	for i, decision := range meeting.Replay(profile, captured) {
		steps = append(steps, Step{Captured: captured[i], Decision: decision, Restored: i >= earlier, Outside: outside})
	}
	return steps, nil
}
