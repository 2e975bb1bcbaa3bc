package deliverytest

import (
	"math/rand/v2"
	"testing"

	"standin/internal/webhook"
)

// TestSendersShareAnOutbox runs three senders on one database, as the nodes of
// a cluster do. Each event is acknowledged, in the order of its job, and no
// try is made twice.
func TestSendersShareAnOutbox(t *testing.T) {
	t.Parallel()
	const events, senders = 1000, 3
	address, seed := cluster.Fresh(t), number(t, envSeed, int(rand.Uint32()))
	t.Logf("repeat with %s=%d", envSeed, seed)
	chance := &dice{random: rand.New(rand.NewPCG(uint64(seed), 0))}
	s := openStore(t, address)
	receivers := newReceivers(t, chance)
	var all []*senderProcess
	for range senders {
		all = append(all, startSender(t, address))
	}
	inserted := make(map[string]webhook.Delivery)
	flow(t, s, chance, receivers, events, inserted)
	awaitEmpty(t, s, events)
	for _, sender := range all {
		sender.kill(t)
	}
	check(t, s, receivers, inserted, events)
}
