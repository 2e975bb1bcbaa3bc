package deliverytest

import (
	"maps"
	"math/rand/v2"
	"testing"

	"standin/internal/jobs/webhook"
	"standin/internal/testing/storetest"
)

// TestNodesShareAnOutbox runs three nodes on one database. They and this process
// insert events. Each event is acknowledged, in the order of its job, and no try is
// made twice.
func TestNodesShareAnOutbox(t *testing.T) {
	if testing.Short() {
		t.Skip("make check-long runs it")
	}
	t.Parallel()
	const events, count = 500, 3
	address, seed := cluster.Fresh(t), number(t, envSeed, int(rand.Uint32()))
	t.Logf("repeat with %s=%d", envSeed, seed)
	chance := &dice{random: rand.New(rand.NewPCG(uint64(seed), 0))}
	s := storetest.Open(t, address)
	receivers := newReceivers(t, chance)
	consumer := newConsumer(t, s).ID
	nodes := newNodes(address, consumer, receivers, events/2)
	var all []*node
	for range count {
		all = append(all, nodes.start(t))
	}
	inserted := make(map[string]webhook.Delivery)
	flow(t, s, chance, consumer, receivers, events-nodes.events, inserted)
	nodes.await(t, all[0])
	awaitEmpty(t, s, events)
	for _, node := range all {
		node.kill(t)
	}
	maps.Copy(inserted, nodes.inserted)
	check(t, s, receivers, inserted, events)
}
