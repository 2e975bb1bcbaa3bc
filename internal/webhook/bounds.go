package webhook

// bounds are how many tries run at once.
type bounds struct {
	total   int // in all
	perHost int // of one host, and as many again that are slow
	queued  int // deliveries that are claimed and not begun
}

// The shares of all places. What hangs gets half of them at the most, so that
// receivers known to hang, however many they are, leave the rest to those that
// answer; and a quarter is not given to receivers that have not answered yet,
// which may hang too, half of it not even to the first try of a host.
func (b bounds) slow() int           { return max(1, b.total/2) }
func (b bounds) unproven() int       { return max(1, b.total*3/4) }
func (b bounds) firsts() int         { return max(1, b.total*7/8) }
func (b bounds) ofConsumer() int     { return max(1, b.total/2) }
func (b bounds) slowOfConsumer() int { return max(1, b.total/4) }

// queuedTrials is how much of the queue may wait for hosts that have not answered:
// they may hang, and a queue that is full of them takes in nothing else.
func (b bounds) queuedTrials() int { return max(1, b.queued/4) }

// heldOfConsumer is how many deliveries of one consumer may be in memory.
func (b bounds) heldOfConsumer() int { return b.ofConsumer() + b.queued*3/4 }

// remembered is how many receivers are, beyond those with running tries.
func (b bounds) remembered() int { return max(20_000, 2*b.total) }

// low reports whether so few are queued that more should be claimed.
func (b bounds) low(queued int) bool { return queued <= b.queued/2 }
