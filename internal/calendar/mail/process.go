package mail

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"standin/internal/calendar/calendarsync"
)

// process processes a message whose author is authenticated.
func (w *Worker) process(ctx context.Context, id uuid.UUID) error {
	p, err := w.store.message(ctx, id)
	if err != nil {
		return err
	}
	policy := &w.Policy
	c, err := parseMessage(p.raw, policy.MeetingHosts)
	if err != nil {
		return err // it was parsed before
	}
	if !p.auth.sealed {
		c.calendars, c.unsealed = nil, true
	}
	read := w.newReading()
	found, err := makePlan(c, read.budget)
	if err != nil {
		return w.postpone(ctx, p, ignored, readError(err))
	}
	plan := policy.filter(c, p.auth, found)
	_, byName := policy.admits(c.from)
	by := author{address: c.from, named: byName}
	if !byName && !policy.signs(domainOf(c.from), "") && policy.DomainMeetings > 0 {
		by.quota = quota{domain: calendarsync.Organization(domainOf(c.from)), meetings: policy.DomainMeetings}
	}
	applied, err := w.store.apply(ctx, p.id, plan.events, by, w.Now())
	if err != nil {
		return err
	}
	w.step("applied")
	sentences := slices.Concat(plan.problems, applied.overQuota, applied.outdated)
	settled := false
	for _, m := range slices.Concat(applied.replaced, applied.meetings) { // no two bots come
		result, err := w.reconcile(ctx, m, p.id, read)
		switch {
		case err != nil:
			return w.postpone(ctx, p, failed, err)
		case !slices.Contains(applied.meetings, m):
			continue
		}
		settled = settled || result.settled && len(result.rejections) == 0
		if len(applied.outdated) == 0 {
			sentences = append(sentences, result.reasons...)
		}
		sentences = append(sentences, result.rejections...)
	}
	changes, err := w.store.changes(ctx, p.id)
	if err != nil {
		return err
	}
	verdict := accepted
	if !settled && len(changes) == 0 {
		verdict = ignored
		if plan.refused || len(applied.overQuota) > 0 {
			verdict = refused
		}
	}
	return w.finish(ctx, p, c, verdict, strings.Join(sentences, "\n"))
}

// finish saves the verdict of a message, with a reply if its author gets one, and
// writes its log entry.
func (w *Worker) finish(ctx context.Context, p pending, c *content, verdict, detail string) error {
	var replyAt any
	state := ""
	if w.Reply.URL != nil && p.auth.method != "" && c.wantsReply() && !strings.EqualFold(c.from, w.Reply.From) {
		var same, recent int // only one message with the same ID is replied to
		if _, err := get(ctx, w.Store.Reader, []any{&same, &recent}, `SELECT
			(SELECT COUNT(*) FROM mail_messages WHERE sender = $1 AND message_id = $2 AND message_id <> '' AND reply <> '' AND id <> $4),
			(SELECT COUNT(*) FROM mail_messages WHERE sender = $1 AND received_at > $3 AND reply <> '')`,
			c.from, c.id, w.Now().Add(-replyTime), p.id); err != nil {
			return err
		}
		if same == 0 && recent < maxReplies {
			replyAt, state = w.Now(), waiting
		}
	}
	if err := w.store.exec(ctx, `UPDATE mail_messages SET verdict = $2, detail = $3, next_at = NULL,
		reply = CASE WHEN reply = '' THEN $4 ELSE reply END, reply_at = CASE WHEN reply = '' THEN $5 ELSE reply_at END
		WHERE id = $1`, p.id, verdict, detail, state, replyAt); err != nil {
		return err
	}
	w.step("finished")
	w.logVerdict(p.id, p.source, p.remote, judgment{content: c, auth: p.auth, verdict: verdict, detail: detail})
	return nil
}

// postpone saves that a message is processed again later. It gives up with a verdict
// after the error's attempts or retryTime.
func (w *Worker) postpone(ctx context.Context, p pending, verdict string, err error) error {
	if ctx.Err() != nil {
		return err
	}
	c, parseErr := parseMessage(p.raw, w.Policy.MeetingHosts)
	if parseErr != nil {
		c = &content{}
	}
	temporary, ok := errors.AsType[*temporaryError](err)
	if rejected, final := errors.AsType[*RejectedError](err); final {
		return w.finish(ctx, p, c, verdict, sentence("The message", rejected))
	}
	if !ok {
		return err
	}
	next := w.Now().Add(backoff(p.attempts))
	if next.After(p.since.Add(retryTime)) || temporary.attempts > 0 && p.attempts+1 >= temporary.attempts {
		return w.finish(ctx, p, c, verdict, fmt.Sprintf("Given up after %d attempts: %v", p.attempts+1, err))
	}
	w.Log.Warn("cannot process message; retrying", "message", p.id, "attempt", p.attempts+1, "next", next.UTC(), "error", err)
	return w.store.exec(ctx, `UPDATE mail_messages SET detail = $2, attempts = attempts + 1, next_at = $3 WHERE id = $1`,
		p.id, err.Error(), next)
}

// temporaryError is the error of an attempt that may succeed later. Other errors
// are those of the database.
type temporaryError struct {
	error
	attempts int // after which a message is given up; 0 if only retryTime counts
}

// sentence says that an event or a message cannot be scheduled.
func sentence(subject string, rejected *RejectedError) string {
	return fmt.Sprintf("%s cannot be scheduled: %s.", subject, strings.TrimSuffix(rejected.Reason, "."))
}

// backoff returns the time until the next attempt: 10 seconds at first, doubled
// each time, at most 30 minutes. It is not random: a message has one worker.
func backoff(attempts int) time.Duration {
	return min(10*time.Second<<min(attempts, 10), 30*time.Minute)
}
