package spool

import (
	"fmt"
	"sync"
)

// commands holds the commands that the bot has acknowledged, so that a restarted
// bot does not execute them again.
type commands struct {
	mutex sync.Mutex
	ids   map[string]bool
}

// MarkCommandSeen stores that the bot has acknowledged a command. If that fails,
// CommandSeen is still true until this process ends.
func (s *Spool) MarkCommandSeen(id string) error {
	s.seen.mutex.Lock()
	defer s.seen.mutex.Unlock()
	if s.seen.ids[id] {
		return nil
	}
	s.seen.ids[id] = true
	if err := s.journal.append(record{Seen: id}); err != nil {
		return fmt.Errorf("mark command %s seen: %w", id, err)
	}
	return nil
}

// CommandSeen reports whether the bot has acknowledged a command.
func (s *Spool) CommandSeen(id string) bool {
	s.seen.mutex.Lock()
	defer s.seen.mutex.Unlock()
	return s.seen.ids[id]
}

func (c *commands) replay(r record) {
	if r.Seen != "" {
		c.ids[r.Seen] = true
	}
}
