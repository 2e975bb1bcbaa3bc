package spool

// MarkCommandSeen stores that the bot has acknowledged a command. If that fails,
// CommandSeen is still true until this process ends.
func (s *Spool) MarkCommandSeen(id string) error {
	if _, known := s.seen.LoadOrStore(id, true); known {
		return nil
	}
	return s.journal.append(record{Seen: id})
}

// CommandSeen reports whether the bot has acknowledged a command.
func (s *Spool) CommandSeen(id string) bool {
	_, seen := s.seen.Load(id)
	return seen
}
