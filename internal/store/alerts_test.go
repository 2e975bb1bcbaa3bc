package store_test

import (
	"testing"
	"time"

	"standin/internal/store"
)

// TestAlerts checks that an alert can be sent again if its sender does not record that it was
// sent, and otherwise only after the cooldown.
func TestAlerts(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		for _, step := range []struct {
			at             time.Duration
			firing, record bool
			want           bool
		}{
			{0, false, false, false}, {0, true, false, true}, {time.Second, true, false, false}, {time.Minute, true, true, true},
			{3 * time.Minute, true, false, false}, {4 * time.Minute, false, false, true}, {5 * time.Minute, false, true, true},
			{6 * time.Minute, false, false, false}, {7 * time.Minute, true, false, false}, {61 * time.Minute, true, true, true},
		} {
			at := now.Add(step.at)
			got, err := s.ClaimAlert(t.Context(), "disk ", "mail", step.firing, at, at.Add(20*time.Second), at.Add(-time.Hour))
			if err != nil || got != step.want {
				t.Errorf("after %v: claimed %v, %v", step.at, got, err)
			}
			if step.record {
				if err := s.RecordAlert(t.Context(), "disk ", "mail", step.firing, at); err != nil {
					t.Error(err)
				}
			}
		}
		if got, err := s.Alerts(t.Context()); err != nil || len(got) != 1 || !got[0].Firing || !got[0].At.Equal(now.Add(61*time.Minute)) {
			t.Errorf("alerts %+v, %v", got, err)
		}
	})
}
