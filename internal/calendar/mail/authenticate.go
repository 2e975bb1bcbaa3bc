package mail

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"standin/internal/calendar/calendarsync"
	"standin/internal/store"
)

const (
	// authenticators is how many messages are authenticated at once. They wait for name
	// servers, so that one that does not answer delays no others.
	authenticators = 8
	// maxLookupAttempts is how often a message in the mailbox is authenticated when name
	// servers do not answer. It lasts about six hours.
	maxLookupAttempts = 20
)

// judgment is what is known of a message before its calendars are read.
type judgment struct {
	content *content
	auth    authentication
	verdict string // waiting, ignored or refused
	detail  string
}

// domain returns the organizational domain of an authenticated author; empty without
// one.
func (j judgment) domain() string {
	if j.auth.method == "" {
		return ""
	}
	return calendarsync.Organization(domainOf(j.content.from))
}

// judge authenticates the author of a message, and reads nothing of its body before. It
// returns an error if that cannot be determined now.
func (w *Worker) judge(ctx context.Context, m received) (judgment, error) {
	c, _, err := parseHeader(m.raw)
	if errors.Is(err, ErrMalformed) {
		return judgment{content: &content{}, verdict: ignored, detail: "The message cannot be read: it is malformed."}, nil
	}
	auth, err := w.Policy.authenticate(ctx, w.resolver, m, c)
	if refusal, ok := errors.AsType[*RejectedError](err); ok {
		return judgment{content: c, verdict: refused, detail: refusal.Reason}, nil
	}
	return judgment{content: c, auth: auth, verdict: waiting}, err
}

// authenticate authenticates a stored message.
func (w *Worker) authenticate(ctx context.Context, id uuid.UUID) error {
	p, err := w.store.message(ctx, id)
	if err != nil {
		return err
	}
	j, judgeErr := w.judge(ctx, p.received)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	err = w.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		return saveJudgment(ctx, tx, id, j, w.Now())
	})
	if err != nil {
		return err
	}
	if judgeErr != nil {
		return w.postpone(ctx, p, refused, &temporaryError{judgeErr, maxLookupAttempts})
	}
	if j.verdict == waiting {
		w.messages.Wake()
	} else {
		w.logVerdict(id, p.source, p.remote, j)
	}
	return nil
}

// logVerdict logs the verdict of a message that is not processed further.
func (w *Worker) logVerdict(id uuid.UUID, source, remote string, j judgment) {
	w.Log.Info("message processed", "message", id, "source", source, "remote", remote, "from", j.content.from, "verdict", j.verdict,
		"auth", j.auth.method, "detail", j.detail)
}
