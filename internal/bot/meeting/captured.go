package meeting

import "time"

// CapturedSnapshot is a snapshot and what was known when it was taken.
type CapturedSnapshot struct {
	At       time.Time `json:"at"`
	Known    History   `json:"known"`
	Snapshot Snapshot  `json:"snapshot"`
}

// Replay classifies the snapshots of one visit, in their order, with a profile that
// may be another one than the profile they were taken with. The visit's state is
// that of the first snapshot; later states follow from the profile.
func Replay(profile *Profile, captured []CapturedSnapshot) []Decision {
	var visit visitState
	var decisions []Decision
	for i, c := range captured {
		if i == 0 {
			visit.resume(c.Known, c.At)
		}
		if c.Known.Requested {
			visit.request(c.At)
		}
		visit.setName(c.Known.OwnName)
		observation := visit.observe(profile, c.Snapshot, c.At)
		decisions = append(decisions, observation.Decision(c.At))
	}
	return decisions
}

// WithLiveState returns the snapshot of a restored page with what only the live
// page had: its address, its connections and what they received.
func (s Snapshot) WithLiveState(live Snapshot) Snapshot {
	s.Scheme, s.Host, s.Path, s.Document = live.Scheme, live.Host, live.Path, live.Document
	s.Media, s.Audio = live.Media, live.Audio
	return s
}
