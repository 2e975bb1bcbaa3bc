package httpmw

// Len returns the number of buckets.
func (l *Limiter) Len() int {
	if l == nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.recent) + len(l.former)
}
