package webhook

import (
	"sync"
	"time"
)

// standing is what is known of a host from its last try.
type standing int

const (
	unknown  standing = iota
	good              // answered, whatever it answered
	doubtful          // did not answer, or only after slowAnswer
)

// slowAnswer is from when on an answer counts as slow.
const slowAnswer = 5 * time.Second

const (
	unknownPerHost  = 2      // until the first answer
	doubtfulPerHost = 2      // while it hangs, each of these lasts a whole try
	rememberedHosts = 10_000 // beyond these, hosts without running tries are forgotten
)

// places bounds the tries that run at once: in all, and for each host. Hosts
// in doubt share a quarter of all places, so that receivers known to hang,
// however many they are, leave the rest to those that answer; and a host not
// yet known gets few places until it has answered.
type places struct {
	total        int
	totalInDoubt int
	perHost      int // of hosts in good standing

	mu           sync.Mutex
	hosts        map[string]*hostPlaces
	taken        int
	takenInDoubt int
}

type hostPlaces struct {
	standing standing
	taken    int
}

// place is one taken place.
type place struct {
	host    string
	inDoubt bool // counted in takenInDoubt
}

func newPlaces(total, perHost int) *places {
	return &places{
		total:        total,
		totalInDoubt: max(1, total/4),
		perHost:      perHost,
		hosts:        make(map[string]*hostPlaces),
	}
}

// batch is how many of one host may be claimed at once. It is half of what a
// good host may have: free calls a good host busy when it has less than a
// batch free, so all that is claimed for it can begin at once.
func (p *places) batch() int { return max(1, p.perHost/2) }

// free returns how many tries may begin, and the hosts to begin none of.
func (p *places) free() (free int, busy []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for name, host := range p.hosts {
		if p.full(host) || host.standing == good && host.taken > p.perHost-p.batch() {
			busy = append(busy, name)
		}
	}
	return p.total - p.taken, busy
}

// full reports whether no try of the host may begin. The caller holds mu.
func (p *places) full(host *hostPlaces) bool {
	if p.taken >= p.total {
		return true
	}
	switch host.standing {
	case good:
		return host.taken >= p.perHost
	case doubtful:
		return host.taken >= min(doubtfulPerHost, p.perHost) || p.takenInDoubt >= p.totalInDoubt
	default:
		return host.taken >= min(unknownPerHost, p.perHost)
	}
}

// take takes a place for a try of the host, if one is free.
func (p *places) take(name string) (place, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	host := p.hosts[name]
	if host == nil {
		p.forgetIdle()
		host = &hostPlaces{}
		p.hosts[name] = host
	}
	if p.full(host) {
		return place{}, false
	}
	taken := place{host: name, inDoubt: host.standing == doubtful}
	p.taken++
	host.taken++
	if taken.inDoubt {
		p.takenInDoubt++
	}
	return taken, true
}

// leave gives a place back, with what was learnt of the host; unknown changes
// nothing.
func (p *places) leave(taken place, learnt standing) {
	p.mu.Lock()
	defer p.mu.Unlock()
	host := p.hosts[taken.host]
	p.taken--
	host.taken--
	if taken.inDoubt {
		p.takenInDoubt--
	}
	if learnt != unknown {
		host.standing = learnt
	}
}

// forgetIdle keeps the memory bounded. The caller holds mu.
func (p *places) forgetIdle() {
	if len(p.hosts) < rememberedHosts {
		return
	}
	for name, host := range p.hosts {
		if host.taken == 0 {
			delete(p.hosts, name)
		}
	}
}
