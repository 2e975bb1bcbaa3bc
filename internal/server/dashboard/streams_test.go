package dashboard

import "testing"

// TestStreamsAreBoundedPerSession opens one stream more than a session may have.
func TestStreamsAreBoundedPerSession(t *testing.T) {
	t.Parallel()
	s := newStreams()
	var leave func()
	for range maxStreams {
		var ok bool
		if _, leave, ok = s.join("session", "job"); !ok {
			t.Fatal("an allowed stream was refused")
		}
	}
	if _, _, ok := s.join("session", "job"); ok {
		t.Errorf("a session may have %d streams", maxStreams+1)
	}
	if _, _, ok := s.join("another session", "job"); !ok {
		t.Error("the streams of a session count for another session")
	}
	leave()
	if _, _, ok := s.join("session", "job"); !ok {
		t.Error("an ended stream is still counted")
	}
}

// TestStreamsShareReads reads a topic from many streams within one interval.
func TestStreamsShareReads(t *testing.T) {
	t.Parallel()
	s := newStreams()
	reads := 0
	for range 10 {
		shared, _, ok := s.join(string(rune('a'+reads)), "job")
		for range 3 {
			if !ok {
				continue
			}
			view, err := shared.current(func(*topic) (any, error) { reads++; return reads, nil })
			if err != nil || view != 1 {
				t.Fatalf("got %v, %v", view, err)
			}
		}
	}
	if reads != 1 {
		t.Errorf("the topic was read %d times, want once", reads)
	}
}
