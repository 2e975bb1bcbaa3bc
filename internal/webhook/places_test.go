package webhook

import (
	"fmt"
	"slices"
	"testing"
)

// fill takes places of a host until there are none.
func fill(p *places, host string) []place {
	var all []place
	for {
		taken, ok := p.take(host)
		if !ok {
			return all
		}
		all = append(all, taken)
	}
}

// know makes a host known.
func know(p *places, host string, as standing) {
	taken, _ := p.take(host)
	p.leave(taken, as)
}

func TestPlacesPerHost(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		standing standing
		perHost  int
		want     int
	}{
		{"unknown", unknown, 16, 2},
		{"good", good, 16, 16},
		{"doubtful", doubtful, 16, 2},
		{"unknown, one allowed", unknown, 1, 1},
		{"doubtful, one allowed", doubtful, 1, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := newPlaces(256, test.perHost)
			know(p, "a", test.standing)
			if got := len(fill(p, "a")); got != test.want {
				t.Errorf("%d places, want %d", got, test.want)
			}
			free, busy := p.free()
			if free != 256-test.want || !slices.Equal(busy, []string{"a"}) {
				t.Errorf("free %d, busy %v", free, busy)
			}
		})
	}
}

func TestDoubtfulHostsShareAQuarter(t *testing.T) {
	t.Parallel()
	p := newPlaces(40, 16)
	var taken []place
	for n := range 30 {
		know(p, fmt.Sprint(n), doubtful)
	}
	for n := range 30 {
		taken = append(taken, fill(p, fmt.Sprint(n))...)
	}
	free, busy := p.free()
	if len(taken) != 10 || free != 30 || len(busy) != 30 {
		t.Errorf("doubtful hosts hold %d places, %d are free, %d hosts busy; want 10, 30, 30", len(taken), free, len(busy))
	}
	know(p, "answers", good)
	if got := len(fill(p, "answers")); got != 16 {
		t.Errorf("a host that answers gets %d places beside them, want 16", got)
	}

	// Recovered, a host no longer counts among them.
	p.leave(taken[0], good)
	if _, busy := p.free(); slices.Contains(busy, taken[0].host) || len(busy) == 30 {
		t.Errorf("busy after one recovered: %v", busy)
	}
}

// All that a claim brings for a good host can begin.
func TestABatchFitsWhereAHostIsNotBusy(t *testing.T) {
	t.Parallel()
	for _, perHost := range []int{1, 2, 3, 4, 16, 17} {
		p := newPlaces(256, perHost)
		know(p, "a", good)
		for taken := range perHost + 1 {
			if _, busy := p.free(); len(busy) == 0 && taken+p.batch() > perHost {
				t.Errorf("of %d places %d are taken, and a batch of %d is let in", perHost, taken, p.batch())
			}
			p.take("a")
		}
		if _, busy := p.free(); len(busy) == 0 {
			t.Errorf("with %d places, all taken, the host is not busy", perHost)
		}
	}
}

func TestPlacesInAll(t *testing.T) {
	t.Parallel()
	p := newPlaces(5, 16)
	taken := append(append(fill(p, "a"), fill(p, "b")...), fill(p, "c")...)
	if len(taken) != 5 {
		t.Fatalf("%d places taken of 5", len(taken))
	}
	if free, _ := p.free(); free != 0 {
		t.Errorf("%d are free", free)
	}
	p.leave(taken[0], good)
	if free, _ := p.free(); free != 1 {
		t.Errorf("%d are free after one left", free)
	}
}

func TestIdleHostsAreForgotten(t *testing.T) {
	t.Parallel()
	p := newPlaces(256, 16)
	p.take("running")
	for n := range rememberedHosts + 10 {
		know(p, fmt.Sprint(n), good)
	}
	if len(p.hosts) > rememberedHosts {
		t.Errorf("%d hosts are remembered", len(p.hosts))
	}
	if p.hosts["running"] == nil {
		t.Error("a host with a running try is forgotten")
	}
}
