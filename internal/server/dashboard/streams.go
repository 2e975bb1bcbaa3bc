package dashboard

import (
	"sync"
	"time"
)

// maxStreams bounds the event streams of a session.
const maxStreams = 4

// streams counts the event streams of each session and shares the reads of streams
// with the same topic.
type streams struct {
	mu       sync.Mutex
	sessions map[string]int
	topics   map[string]*topic
}

// topic is data that several streams show, for example a job.
type topic struct {
	streams int // protected by streams.mu

	mu        sync.Mutex
	readAt    time.Time
	view      any
	recording recordingCache
}

func newStreams() *streams {
	return &streams{sessions: make(map[string]int), topics: make(map[string]*topic)}
}

// join adds a stream of a session to a topic. It reports false when the session has
// too many streams. The stream ends with leave.
func (s *streams) join(session, name string) (shared *topic, leave func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sessions[session] >= maxStreams {
		return nil, nil, false
	}
	s.sessions[session]++
	shared = s.topics[name]
	if shared == nil {
		shared = new(topic)
		s.topics[name] = shared
	}
	shared.streams++
	return shared, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.sessions[session]--; s.sessions[session] == 0 {
			delete(s.sessions, session)
		}
		if shared.streams--; shared.streams == 0 {
			delete(s.topics, name)
		}
	}, true
}

// current returns the view of the topic. It reads the view at most once per poll
// interval, for any number of streams.
func (t *topic) current(read func(*topic) (any, error)) (any, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.view != nil && time.Since(t.readAt) < pollInterval*9/10 {
		return t.view, nil
	}
	view, err := read(t)
	if err == nil {
		t.view, t.readAt = view, time.Now()
	}
	return view, err
}
