package store_test

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/store"
	"standin/internal/store/postgres"
)

// runNotifier runs a notifier and returns it with a channel of its notifications.
func runNotifier(t *testing.T, s *store.Store) (*postgres.Notifier, <-chan postgres.Notification) {
	t.Helper()
	received := make(chan postgres.Notification, 1000)
	notifier := s.NewNotifier(func(changed postgres.Notification) { received <- changed }, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	running.Go(func() { notifier.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	return notifier, received
}

// await waits for a notification for which wanted returns true.
func await(t *testing.T, received <-chan postgres.Notification, what string, wanted func(postgres.Notification) bool) {
	t.Helper()
	timeout := time.After(2 * time.Minute)
	for {
		select {
		case changed := <-received:
			if wanted(changed) {
				return
			}
		case <-timeout:
			t.Fatalf("timeout waiting for %s", what)
		}
	}
}

// TestNotifier checks that a node receives the notifications of other nodes, also
// after a lost connection, and not its own.
func TestNotifier(t *testing.T) {
	t.Parallel()
	address := cluster.Fresh(t)
	s := open(t, address)
	one, receivedByOne := runNotifier(t, s)
	_, receivedByTwo := runNotifier(t, s)
	missed := func(changed postgres.Notification) bool { return changed.Jobs && changed.Deliveries } // when it starts to listen
	await(t, receivedByOne, "the start of the first notifier", missed)
	await(t, receivedByTwo, "the start of the second notifier", missed)
	id := uuid.New()
	one.Notify(postgres.Notification{Commands: []uuid.UUID{id}})
	one.Notify(postgres.Notification{Jobs: true})
	commands := func(notification postgres.Notification) bool { return slices.Contains(notification.Commands, id) }
	await(t, receivedByTwo, "a command", commands)

	terminateConnections(t, connectAdmin(t, address))
	await(t, receivedByTwo, "the reconnect", missed)
	one.Notify(postgres.Notification{Deliveries: true})
	await(t, receivedByTwo, "webhooks after the reconnect", func(changed postgres.Notification) bool { return changed.Deliveries && !changed.Jobs })
	for {
		select {
		case changed := <-receivedByOne:
			if !missed(changed) {
				t.Errorf("a notifier received its own notification: %+v", changed)
			}
			continue
		default:
		}
		break
	}
}
