package spool

import "sync"

// changes notifies the goroutines that wait for a change.
type changes struct {
	mutex sync.Mutex
	open  chan struct{}
}

func (c *changes) wait() <-chan struct{} {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.open == nil {
		c.open = make(chan struct{})
	}
	return c.open
}

func (c *changes) notify() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.open != nil {
		close(c.open)
		c.open = nil
	}
}
