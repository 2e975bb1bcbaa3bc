package dispatch

import (
	"testing"
	"time"

	"github.com/google/uuid"
)

// Reserve reserves a slot for a new bot.
func Reserve(t *testing.T, c *Capacity, now time.Time) {
	t.Helper()
	if _, reason := c.reserve(t.Context(), uuid.New(), 0, now); reason != "" {
		t.Fatal(reason)
	}
}
