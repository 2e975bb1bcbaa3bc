// Package replicatest opens meetings of replicas for tests.
package replicatest

import (
	"context"
	"testing"

	"standin/internal/replica"
)

// Start starts a server of replicas that is closed with the test.
func Start(t testing.TB, options replica.Options) *replica.Server {
	t.Helper()
	server, err := replica.Start(context.WithoutCancel(t.Context()), options)
	if err != nil {
		t.Fatalf("starting the replicas: %v", err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Errorf("closing the replicas: %v", err)
		}
	})
	return server
}

// Open opens a meeting on a new server without media.
func Open(t testing.TB, settings replica.Settings) *replica.Meeting {
	t.Helper()
	opened, err := Start(t, replica.Options{}).Open(settings)
	if err != nil {
		t.Fatalf("opening a meeting: %v", err)
	}
	return opened
}
