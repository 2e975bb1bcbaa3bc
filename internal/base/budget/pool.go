package budget

import "sync"

// Pool is a number of units, such as bytes, of which calls take more and more. No call
// waits: when too few are left, the user who has the most loses a call. It is safe for
// concurrent use.
type Pool struct {
	mu    sync.Mutex
	left  int64
	parts map[*Part]struct{} // neither lost nor released
}

// Part is what one call has taken from a Pool.
type Part struct {
	pool   *Pool
	user   string
	units  int64
	onLoss func()
}

// NewPool returns a Pool of total units.
func NewPool(total int64) *Pool { return &Pool{left: total, parts: make(map[*Part]struct{})} }

// Join returns an empty Part for a call of a user, which must be released. onLoss is called
// if it is lost.
func (p *Pool) Join(user string, onLoss func()) *Part {
	p.mu.Lock()
	defer p.mu.Unlock()
	part := &Part{pool: p, user: user, onLoss: onLoss}
	p.parts[part] = struct{}{}
	return part
}

// Take takes more units. If too few are left, the user with the most loses the largest part;
// the caller loses this one if it is that user. The error is ErrFull if this part is lost.
func (p *Part) Take(units int64) error {
	p.pool.mu.Lock()
	defer p.pool.mu.Unlock()
	for p.held() && p.pool.left < units {
		loser := p.loser(units)
		loser.end()
		loser.onLoss()
	}
	if !p.held() {
		return ErrFull
	}
	p.units += units
	p.pool.left -= units
	return nil
}

// loser returns the part that is lost when this one needs more units.
func (p *Part) loser(units int64) *Part {
	totals := map[string]int64{p.user: units}
	for part := range p.pool.parts {
		totals[part.user] += part.units
	}
	most := p.user
	for user, total := range totals {
		if total > totals[most] {
			most = user
		}
	}
	largest := p
	for part := range p.pool.parts {
		if most != p.user && part.user == most && (largest == p || part.units > largest.units) {
			largest = part
		}
	}
	return largest
}

// OnLoss replaces what is called when the part is lost. It is called at once if that has
// happened, and never after Release.
func (p *Part) OnLoss(call func()) {
	p.pool.mu.Lock()
	defer p.pool.mu.Unlock()
	if p.onLoss = call; !p.held() {
		call()
	}
}

// Release gives the units back, unless the part was lost. Only the first call has an effect.
func (p *Part) Release() {
	p.pool.mu.Lock()
	defer p.pool.mu.Unlock()
	p.end()
}

func (p *Part) held() bool {
	_, ok := p.pool.parts[p]
	return ok
}

func (p *Part) end() {
	if p.held() {
		delete(p.pool.parts, p)
		p.pool.left += p.units
	}
}
