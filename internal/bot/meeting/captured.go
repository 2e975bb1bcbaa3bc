package meeting

import (
	"context"
	"slices"
	"time"
)

// ConfirmTime is the time after which every terminal screen that lasts counts.
const ConfirmTime = 3 * time.Second

// ParseProfile reads and checks a profile. source names it in errors.
func ParseProfile(source string, data []byte) (*Profile, error) { return parseProfile(source, data) }

// Text returns the profile's file.
func (p *Profile) Text() []byte { return p.text }

// Source returns the name of the profile's file.
func (p *Profile) Source() string { return p.source }

// ElementExpression returns the JavaScript expression that yields an element of the
// profile, or null.
func (p *Profile) ElementExpression(name string) (string, error) {
	probe, err := newProbe(p)
	return probe.element(name), err
}

// ExpectedElements returns the elements that a page with a screen should have:
// those that a bot uses on it.
func (p *Profile) ExpectedElements(screen Screen, snapshot Snapshot) []string {
	either := func(a, b string) []string {
		if snapshot.present(a) || snapshot.present(b) {
			return nil
		}
		return []string{a, b}
	}
	switch screen {
	case PreJoin:
		return slices.Concat([]string{nameInput, joinButton}, either(microphoneOn, microphoneOff), either(cameraOn, cameraOff))
	case Lobby:
		return []string{leaveButton}
	case InMeeting:
		return slices.Concat([]string{leaveButton, chatButton}, either(microphoneOn, microphoneOff), either(cameraOn, cameraOff), p.Admission.Controls)
	}
	return nil
}

// Snapshot reads a page.
func (p *Profile) Snapshot(ctx context.Context, page Page) (Snapshot, error) {
	probe, err := newProbe(p)
	if err != nil {
		return Snapshot{}, err
	}
	return probe.snapshot(ctx, page)
}

// WithLiveState returns the snapshot of a restored page with what only the live
// page had: its address, its connections and what they received.
func (s Snapshot) WithLiveState(live Snapshot) Snapshot {
	s.Scheme, s.Host, s.Path, s.Document = live.Scheme, live.Host, live.Path, live.Document
	s.Media, s.Audio = live.Media, live.Audio
	return s
}

// Weak reports whether a recognized screen rests on weak evidence only.
func (d Decision) Weak() bool {
	return d.Screen != Unknown &&
		!slices.ContainsFunc(d.Evidence, func(e Evidence) bool { return e.Weight >= minWeight })
}
