package spool

import "fmt"

// MarkCommandSeen stores that the bot has acknowledged a command. If that fails,
// CommandSeen is still true until this process ends.
func (s *Spool) MarkCommandSeen(id string) error {
	if _, known := s.seen.LoadOrStore(id, true); known {
		return nil
	}
	if err := s.journal.append(record{Seen: id}); err != nil {
		return fmt.Errorf("mark command %s seen: %w", id, err)
	}
	return nil
}

// CommandSeen reports whether the bot has acknowledged a command.
func (s *Spool) CommandSeen(id string) bool {
	_, seen := s.seen.Load(id)
	return seen
}
