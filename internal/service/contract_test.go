package service_test

import (
	"testing"
)

// contractElsewhere are the statuses that this walk cannot cause.
var contractElsewhere = map[string]string{
	"getMedia 307": "only object storage signs addresses; TestMediaIsRedirectedToSignedAddresses of httpapi has a storage that does",
}

// TestContract walks the specification and the contract row by row on the whole
// program: each operation × each status that it may answer. Every answer is
// held against api/openapi.yaml, and at the end none may be missing.
func TestContract(t *testing.T) {
	t.Parallel()
	walk := newContractWalk()
	h := openContractHouse(t, walk, contractSettings(t.TempDir()))
	t.Run("rows", func(t *testing.T) {
		for name, rows := range map[string]func(*testing.T, *contractHouse){
			"jobs": contractJobs, "patch": contractPatch, "lists": contractLists, "controls": contractControls,
			"recordings": contractRecordings, "history": contractHistory, "bots": contractBots, "uploads": contractUploads,
			"calendar": contractCalendar, "login": contractLogin, "operator": contractOperator, "payments": contractPayments,
			"service": contractService, "bodies": contractBodies, "webhooks": contractWebhooks,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				rows(t, h)
			})
		}
		t.Run("slow", func(t *testing.T) { t.Parallel(); contractSlow(t, walk) })
		t.Run("broken", func(t *testing.T) { t.Parallel(); contractBroken(t, walk) })
		t.Run("limited", func(t *testing.T) { t.Parallel(); contractLimited(t, walk) })
	})
	for _, operation := range h.description.Operations() {
		for _, status := range operation.Statuses {
			row := operation.ID + " " + status
			if _, elsewhere := contractElsewhere[row]; walk.seen[row] == elsewhere {
				t.Errorf("%s: seen %v, expected elsewhere %v", row, walk.seen[row], elsewhere)
			}
		}
	}
	t.Logf("%d pairs of operation and status seen", len(walk.seen))
}
