package meeting

import (
	"context"
	"fmt"
	"time"

	"standin/internal/job"
)

// Join implements Adapter.
func (s *site) Join(ctx context.Context, page Page, options JoinOptions) error {
	name := Truncate(SingleLine(options.Name), s.profile.Limits.Name)
	if name == "" {
		name = job.DefaultDisplayName
	}
	progress := newJoinSteps(name, SingleLine(options.Passcode))
	var last Observation
	err := s.poll(ctx, page, func(snapshot Snapshot) (bool, error) {
		last = s.observation(snapshot)
		s.rememberName(snapshot)
		next := progress.next(snapshot, last.Screen, time.Now())
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

// pressBeforeMeeting presses an element, and prevents a launcher from starting
// the platform's program.
func (s *site) pressBeforeMeeting(ctx context.Context, page Page, element string) error {
	if element == launchApp {
		if err := page.Eval(ctx, navigationGuardScript, nil); err != nil {
			return fmt.Errorf("keep the launcher in the browser: %w", err)
		}
	}
	return s.press(ctx, page, element)
}
