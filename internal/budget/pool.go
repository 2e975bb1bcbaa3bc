package budget

import "sync"

// Pool is a number of units, such as bytes, of which calls take more and more. No call
// waits: when too few are left, the user who has the most loses a call. It is safe for
// concurrent use.
type Pool struct {
	mu    sync.Mutex
	left  int64
	users map[string]*holder
}

// holder is what the calls of one user have taken from a Pool.
type holder struct {
	units int64
	parts map[*Part]struct{}
}

// Part is what one call has taken from a Pool.
type Part struct {
	pool   *Pool
	user   string
	units  int64
	onLoss func()
	ended  bool
}

// NewPool returns a Pool of total units.
func NewPool(total int64) *Pool { return &Pool{left: total, users: make(map[string]*holder)} }

// Join returns an empty Part for a call of a user, which must be released.
func (p *Pool) Join(user string) *Part {
	p.mu.Lock()
	defer p.mu.Unlock()
	part := &Part{pool: p, user: user, onLoss: func() {}}
	if p.users[user] == nil {
		p.users[user] = &holder{parts: make(map[*Part]struct{})}
	}
	p.users[user].parts[part] = struct{}{}
	return part
}

// Take takes more units. If too few are left, the user with the most loses the largest part;
// the caller loses this one if it is that user. The error is ErrFull if this part is lost.
func (p *Part) Take(units int64) error {
	p.pool.mu.Lock()
	defer p.pool.mu.Unlock()
	for !p.ended && p.pool.left < units {
		loser := p.pool.loser(p, units)
		loser.end()
		loser.onLoss()
	}
	if p.ended {
		return ErrFull
	}
	p.units += units
	p.pool.users[p.user].units += units
	p.pool.left -= units
	return nil
}

// loser returns the part that is lost when a part needs more units.
func (p *Pool) loser(asking *Part, units int64) *Part {
	most, largest := p.users[asking.user].units+units, asking
	for name, user := range p.users {
		if name == asking.user || user.units <= most {
			continue
		}
		most, largest = user.units, &Part{}
		for part := range user.parts {
			if part.units > largest.units {
				largest = part
			}
		}
	}
	return largest
}

// OnLoss replaces what is called when the part is lost. It is called at once if that has
// happened, and never after Release.
func (p *Part) OnLoss(call func()) {
	p.pool.mu.Lock()
	defer p.pool.mu.Unlock()
	p.onLoss = call
	if p.ended {
		call()
	}
}

// Release gives the units back, unless the part was lost. Only the first call has an effect.
func (p *Part) Release() {
	p.pool.mu.Lock()
	defer p.pool.mu.Unlock()
	p.end()
}

func (p *Part) end() {
	user := p.pool.users[p.user]
	if p.ended {
		return
	}
	p.ended = true
	p.pool.left += p.units
	user.units -= p.units
	if delete(user.parts, p); len(user.parts) == 0 {
		delete(p.pool.users, p.user)
	}
}
