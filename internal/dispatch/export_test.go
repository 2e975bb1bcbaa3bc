package dispatch

import (
	"testing"
	"time"

	"github.com/google/uuid"
)

// Take gives some bot a place.
func Take(t *testing.T, m *Capacity, now time.Time) {
	t.Helper()
	if why := m.reserve(t.Context(), uuid.New(), 0, now); why != "" {
		t.Fatal(why)
	}
}
