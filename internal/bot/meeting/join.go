package meeting

import (
	"context"
	"time"

	"standin/internal/job"
)

// Join implements Adapter.
func (s *site) Join(ctx context.Context, page Page, options JoinOptions) error {
	name := Truncate(SingleLine(options.Name), s.profile.Limits.Name)
	if name == "" {
		name = job.DefaultDisplayName
	}
	s.visit.reset()
	progress := newJoinSteps(name, SingleLine(options.Passcode))
	var last Observation
	err := s.poll(ctx, page, func(snapshot Snapshot) (bool, error) {
		now := time.Now()
		if field, visible := snapshot.Elements[nameInput]; visible && field.Value != "" {
			s.visit.setName(field.Value) // the page may have cut it
		}
		if last = s.observe(snapshot, now); last.Pending != "" {
			return false, nil
		}
		next := progress.next(snapshot, last.Screen, now)
		switch next.kind {
		case stepFail:
			if next.evidence != "" {
				last.Screen, last.Evidence = NotFound, next.evidence
			}
			return false, &ScreenError{Observation: last}
		case stepDone:
			return true, nil
		case stepPress:
			return false, s.pressBeforeMeeting(ctx, page, next.element)
		case stepType:
			return false, page.TypeInto(ctx, s.probe.element(next.element), next.element, next.text)
		case stepEnter:
			return false, s.pressEnter(ctx, page)
		default:
			return false, nil
		}
	})
	if err != nil && ctx.Err() != nil {
		return &ScreenError{Observation: last, Cause: ctx.Err()}
	}
	return err
}

// pressBeforeMeeting presses an element, and records that joining was requested.
func (s *site) pressBeforeMeeting(ctx context.Context, page Page, element string) error {
	if element == joinButton || element == joinInDialog {
		s.visit.request()
	}
	return s.press(ctx, page, element)
}
