package pagecheck

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"standin/internal/bot/capture"
	"standin/internal/bot/meeting"
	"standin/internal/jobs/job"
)

// ReplaySettings are the settings of Replay.
type ReplaySettings struct {
	File      string // the capture: a ZIP file, or a folder with its files
	Profiles  string // folder; empty: the embedded profiles
	Browser   string // empty: found on PATH
	NoSandbox bool
}

// Replay is what a profile concludes from a capture.
type Replay struct {
	Platform job.Platform `json:"platform"`
	Profile  string       `json:"profile"` // its file
	Version  int          `json:"version"`
	Date     string       `json:"date"`

	TakenAt time.Time `json:"takenAt"`
	Reason  string    `json:"reason"`
	Title   string    `json:"title"`
	Address string    `json:"address"`

	Screen   meeting.Screen             `json:"screen"` // of the last step
	Steps    []ReplayStep               `json:"steps"`
	Elements []meeting.InspectedElement `json:"elements"` // of the captured page
	Outside  map[string]string          `json:"outside"`  // texts of the captured page outside the regions of new conditions, by path
}

// ReplayStep is a snapshot and what was concluded from it.
type ReplayStep struct {
	At       time.Time                  `json:"at"`
	Screen   meeting.Screen             `json:"screen"`
	Pending  meeting.Screen             `json:"pending,omitempty"`
	Before   meeting.Screen             `json:"before,omitempty"` // what the bot concluded, in the visit
	Evidence []meeting.Evidence         `json:"evidence"`
	Elements []meeting.InspectedElement `json:"elements"` // the visible ones
	Restored bool                       `json:"restored"` // the captured page, read again
}

// captureSession is an open capture, its profile and a browser.
type captureSession struct {
	capture *capture.Capture
	profile *meeting.Profile
	viewer  *capture.Viewer
}

// openCapture opens a capture and starts a browser for it.
func openCapture(ctx context.Context, settings ReplaySettings) (*captureSession, error) {
	opened, err := capture.Open(settings.File)
	if err != nil {
		return nil, err
	}
	profiles, err := meeting.Load(settings.Profiles)
	if err != nil {
		return nil, err
	}
	profile, ok := profiles[opened.Platform]
	if !ok {
		return nil, fmt.Errorf("no profile for the platform %q of the capture", opened.Platform)
	}
	viewer, err := capture.NewViewer(ctx, capture.BrowserSettings{Executable: settings.Browser, NoSandbox: settings.NoSandbox})
	if err != nil {
		return nil, err
	}
	return &captureSession{capture: opened, profile: profile, viewer: viewer}, nil
}

// ReplayCapture returns what a profile concludes from a capture, step by step.
func ReplayCapture(ctx context.Context, settings ReplaySettings) (_ Replay, err error) {
	session, err := openCapture(ctx, settings)
	if err != nil {
		return Replay{}, err
	}
	defer func() { err = cmp.Or(err, session.viewer.Close()) }()
	return session.replay(ctx)
}

func (s *captureSession) replay(ctx context.Context) (Replay, error) {
	c, profile := s.capture, s.profile
	steps, err := s.viewer.Replay(ctx, c, profile)
	if err != nil {
		return Replay{}, err
	}
	if len(steps) == 0 {
		return Replay{}, fmt.Errorf("the capture holds neither a page nor snapshots")
	}
	replay := Replay{
		Platform: profile.Platform, Profile: profile.Source(), Version: profile.Version, Date: profile.Date,
		TakenAt: c.TakenAt, Reason: c.Reason, Title: c.Title, Address: c.Address,
	}
	for i, step := range steps {
		elements := profile.InspectElements(step.Captured.Snapshot)
		replay.Elements, replay.Outside = elements, step.Outside
		concluded := ReplayStep{
			At: step.Decision.At, Screen: step.Decision.Screen, Pending: step.Decision.Pending, Evidence: step.Decision.Evidence,
			Restored: step.Restored,
			Elements: slices.DeleteFunc(slices.Clone(elements), func(e meeting.InspectedElement) bool { return e.State != meeting.ElementVisible }),
		}
		if i < len(c.Decisions) && i < len(c.Snapshots) {
			concluded.Before = c.Decisions[i].Screen
		}
		replay.Steps = append(replay.Steps, concluded)
	}
	replay.Screen = replay.Steps[len(steps)-1].Screen
	return replay, nil
}

// Expect returns an error unless the last step shows what is expected: a screen,
// and, after each +, an element that a click would reach.
func (r Replay) Expect(expected string) error {
	parts := strings.Split(expected, "+")
	if wanted := meeting.Screen(parts[0]); wanted != r.Screen {
		return fmt.Errorf("the replay ends with %s, expected %s", r.Screen, wanted)
	}
	for _, name := range parts[1:] {
		found := slices.IndexFunc(r.Elements, func(e meeting.InspectedElement) bool { return e.Name == name })
		switch {
		case found < 0:
			return fmt.Errorf("the profile has no element %q", name)
		case r.Elements[found].State != meeting.ElementVisible:
			return fmt.Errorf("the element %s is %s on the captured page", name, r.Elements[found].State)
		}
	}
	return nil
}

// WriteJSON writes the replay as JSON.
func (r Replay) WriteJSON(w io.Writer) error { return writeJSON(w, r) }

// WriteText writes the replay for people.
func (r Replay) WriteText(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "capture\t%s, %s\n", r.TakenAt.UTC().Format("2006-01-02 15:04:05 UTC"), oneLine(r.Reason))
	fmt.Fprintf(table, "profile\t%s version %d of %s (%s)\n", r.Platform, r.Version, r.Date, r.Profile)
	fmt.Fprintf(table, "page\t%s, %s\n", quoted(r.Title), oneLine(r.Address))
	for i, step := range r.Steps {
		fmt.Fprintf(table, "\nstep %d\t%.1f s: %s", i+1, step.At.Sub(r.Steps[0].At).Seconds(), step.Screen)
		if step.Pending != "" {
			fmt.Fprintf(table, ", %s if it lasts", step.Pending)
		}
		if step.Restored {
			fmt.Fprint(table, ", the captured page")
		}
		if step.Before != "" && step.Before != step.Screen {
			fmt.Fprintf(table, "; the bot concluded %s", step.Before)
		}
		fmt.Fprintln(table)
		for _, evidence := range step.Evidence {
			where := ""
			if evidence.Where != "" {
				where = " (" + oneLine(evidence.Where) + ")"
			}
			fmt.Fprintf(table, "  %+d\t%s%s\n", evidence.Weight, oneLine(evidence.What), where)
		}
		var visible []string // the candidates that found them
		for _, element := range step.Elements {
			name := fmt.Sprintf("%s (%d)", element.Name, element.Candidate)
			if element.Disabled {
				name += " disabled"
			}
			visible = append(visible, name)
		}
		if len(visible) > 0 {
			fmt.Fprintf(table, "  visible\t%s\n", strings.Join(visible, ", "))
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, path := range slices.Sorted(maps.Keys(r.Outside)) {
		fmt.Fprintf(w, "\n%s: %s is on the page, but in none of its regions\n", path, quoted(r.Outside[path]))
	}
	fmt.Fprintln(w)
	return writeElements(w, r.Elements)
}
