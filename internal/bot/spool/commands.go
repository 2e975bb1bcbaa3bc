package spool

import (
	"fmt"
	"sync"
)

// commands remembers which of the service's commands this attempt has taken,
// so that a bot started again does not carry them out a second time.
type commands struct {
	mutex sync.Mutex
	ids   map[string]bool
}

// TakeCommand writes down that the command was taken. Taking it again does
// nothing. If it cannot be written down it counts as taken until this process
// ends, and the error says so.
func (s *Spool) MarkCommandSeen(id string) error {
	if id == "" || len(id) > maxCommandID {
		return fmt.Errorf("take command: an id has 1 to %d bytes, not %d", maxCommandID, len(id))
	}
	s.taken.mutex.Lock()
	defer s.taken.mutex.Unlock()
	if s.taken.ids[id] {
		return nil
	}
	s.taken.add(id)
	if err := s.journal.append(record{Taken: id}); err != nil {
		return fmt.Errorf("take command %s: %w", id, err)
	}
	return nil
}

// CommandTaken reports whether the command was taken, now or before a restart.
func (s *Spool) CommandSeen(id string) bool {
	s.taken.mutex.Lock()
	defer s.taken.mutex.Unlock()
	return s.taken.ids[id]
}

func (c *commands) add(id string) {
	if c.ids == nil {
		c.ids = map[string]bool{}
	}
	c.ids[id] = true
}

func (c *commands) replay(r record) {
	if r.Taken != "" {
		c.add(r.Taken)
	}
}
