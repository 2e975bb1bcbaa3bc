package event_test

import (
	"slices"
	"testing"

	"github.com/google/uuid"

	"standin/internal/jobs/event"
)

func TestPublishCallsSubscribersInOrder(t *testing.T) {
	t.Parallel()
	var publisher event.Publisher
	publisher.Publish(event.JobDue{}) // without subscribers
	var got []string
	publisher.Subscribe(func(e event.Event) {
		if e, ok := e.(event.CommandQueued); ok {
			got = append(got, "first "+e.JobID.String())
		}
	})
	publisher.Subscribe(func(event.Event) { got = append(got, "second") })
	publisher.Publish(event.CommandQueued{JobID: uuid.Nil})
	publisher.Publish(event.DeliveryDue{})
	if want := []string{"first " + uuid.Nil.String(), "second", "second"}; !slices.Equal(got, want) {
		t.Errorf("called %q, want %q", got, want)
	}
	var none *event.Publisher
	none.Publish(event.JobDue{}) // does not panic
}
