package mail

import (
	"context"
	"errors"
	"time"
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
	return organizational(domainOf(j.content.from))
}

// judge authenticates the author of a message, and reads nothing of its body before. It
// returns an error if that cannot be determined now.
func (w *Worker) judge(ctx context.Context, m received) (judgment, error) {
	c, _, err := parseHeader(m.raw)
	if errors.Is(err, ErrMalformed) {
		return judgment{content: &content{}, verdict: ignored, detail: "The message cannot be read: it is malformed."}, nil
	}
	auth, err := w.settings.Policy.authenticate(ctx, w.resolver, m, c)
	if refusal, ok := errors.AsType[*refusalError](err); ok {
		return judgment{content: c, verdict: refused, detail: refusal.reason}, nil
	}
	return judgment{content: c, auth: auth, verdict: waiting}, err
}

// authenticateArrivals authenticates stored messages when they arrive until ctx is
// cancelled. Another authenticator waits for those that are tried again.
func (w *Worker) authenticateArrivals(ctx context.Context) error {
	for {
		select {
		case <-w.arrived:
		case <-ctx.Done():
			return nil
		}
		if err := w.authenticateDue(ctx); err != nil {
			return ignoreEnd(ctx, err)
		}
	}
}

// authenticateDue authenticates stored messages that are due, one after another.
func (w *Worker) authenticateDue(ctx context.Context) error {
	for ctx.Err() == nil {
		found, err := w.authenticateNext(ctx)
		if err != nil || !found {
			return err
		}
	}
	return nil
}

// authenticateNext authenticates the stored message that is due first, and reports
// whether there was one.
func (w *Worker) authenticateNext(ctx context.Context) (bool, error) {
	id, ok, err := w.takeArrival(ctx)
	if err != nil || !ok {
		return false, err
	}
	defer w.releaseArrival(id)
	w.arrived.Send() // there may be more
	p, err := w.store.message(ctx, id)
	if err != nil {
		return false, err
	}
	j, judgeErr := w.judge(ctx, received{source: p.source, remote: p.remote, raw: p.raw, at: p.receivedAt})
	if ctx.Err() != nil {
		return false, nil // the message stays due
	}
	if err := w.store.saveJudgment(ctx, p.id, j, w.settings.Now()); err != nil {
		return true, err
	}
	if judgeErr != nil {
		return true, w.postpone(ctx, p, refused, &temporaryError{err: judgeErr, attempts: maxLookupAttempts})
	}
	if j.verdict == waiting {
		w.wake.Send()
	} else {
		w.logVerdict(p.id, p.source, p.remote, j)
	}
	return true, nil
}

// logVerdict logs the verdict of a message that is not processed further.
func (w *Worker) logVerdict(id int64, source, remote string, j judgment) {
	w.settings.Log.Info("message processed", "message", id, "source", source, "remote", remote, "from", j.content.from, "verdict", j.verdict,
		"auth", j.auth.method, "detail", j.detail)
}

// takeArrival returns a message to authenticate that no other authenticator has.
func (w *Worker) takeArrival(ctx context.Context) (id int64, ok bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	due, err := w.firstArrival(ctx)
	if err != nil || due.id == 0 || due.at.After(w.settings.Now()) {
		return 0, false, err
	}
	w.inFlight[due.id] = true
	return due.id, true, nil
}

func (w *Worker) releaseArrival(id int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.inFlight, id)
}

// nextArrival returns when the next message is to be authenticated; zero if there is
// none.
func (w *Worker) nextArrival(ctx context.Context) (time.Time, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	due, err := w.firstArrival(ctx)
	return due.at, err
}

// firstArrival returns the first message to authenticate that is not in flight; the
// zero arrival if there is none. The caller holds the lock.
func (w *Worker) firstArrival(ctx context.Context) (arrival, error) {
	arrivals, err := w.store.arrivals(ctx, len(w.inFlight)+1)
	if err != nil {
		return arrival{}, err
	}
	for _, a := range arrivals {
		if !w.inFlight[a.id] {
			return a, nil
		}
	}
	return arrival{}, nil
}
