package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"standin/bench/limit"
	"standin/bench/load"
	"standin/bench/report"
	"standin/bench/seed"
	"standin/internal/bot/ingest"
	jobs "standin/internal/jobs/job"
)

// Sizes of the webhook rows.
const (
	hosts       = 8               // receivers
	teams       = 50              // of the row cancel-teams
	recordings  = limit.EventJobs // jobs whose bots report events
	perRound    = 4000            // requests of a round at the default duration of 2 s
	sentAlone   = 20_000
	defaultTime = 2 * time.Second
)

// webhookRows measure requests that cause webhooks, and their delivery.
func webhookRows() []row {
	return []row{
		{
			name: "cancel",
			table: []report.Row{
				{Title: "cancel with a webhook", Unit: perSecond, Limit: string(limit.OneTable)},
			},
			prepare: func(ctx context.Context, e *env) ([]contestant, error) {
				return e.withReceivers(ctx, hosts, e.cancels(1), limit.OneTable)
			},
		},
		{
			name: "cancel-teams", slow: true,
			table: []report.Row{{Title: fmt.Sprintf("cancel with a webhook, jobs of %d teams", teams), Unit: perSecond}},
			prepare: func(ctx context.Context, e *env) ([]contestant, error) {
				return e.withReceivers(ctx, hosts, e.cancels(teams))
			},
		},
		{
			name: "ingest",
			table: []report.Row{
				{Title: "bot event with its webhook", Unit: perSecond, Limit: string(limit.OneTable)},
				{Title: "bot event, beside a bare server that sends the webhook", Unit: perSecond, Limit: string(limit.Webhook)},
				{Title: "bot event, beside a bare server with Standin's tables", Unit: perSecond, Limit: string(limit.EventTables)},
				{Title: "webhooks from the event to the receiver", Unit: delivered, Limit: string(limit.Webhook)},
			},
			prepare: func(ctx context.Context, e *env) ([]contestant, error) {
				all, err := e.withReceivers(ctx, hosts, e.events, limit.OneTable)
				if err != nil {
					return all, err
				}
				bare, err := e.bareSenders(ctx, limit.Webhook, limit.EventTables)
				return append(all, bare...), err
			},
		},
		{
			name:  "sender",
			table: []report.Row{{Title: "webhooks, the sender alone", Unit: delivered}},
			prepare: func(ctx context.Context, e *env) ([]contestant, error) {
				return e.withReceivers(ctx, hosts, e.outbox)
			},
		},
	}
}

// prepareWithReceivers returns how an instance is measured whose webhooks go to
// receivers.
type prepareWithReceivers func(context.Context, *instance, *receivers) (measureFunc, error)

// withReceivers is contest with receivers of each instance.
func (e *env) withReceivers(ctx context.Context, hosts int, prepare prepareWithReceivers,
	limits ...limit.Kind) (all []contestant, err error) {
	var started []*receivers
	all, err = e.contest(ctx, func(ctx context.Context, s *instance) (measureFunc, error) {
		r, err := newReceivers(ctx, hosts)
		if err != nil {
			return nil, err
		}
		started = append(started, r)
		return prepare(ctx, s, r)
	}, limits...)
	return append(all, contestant{close: func() error {
		for _, r := range started {
			r.close()
		}
		return nil
	}}), err
}

// requestsPerRound returns how many requests a round has whose number is fixed.
func (e *env) requestsPerRound() int {
	return max(load.Connections, int(perRound*e.duration/defaultTime))
}

// cancels cancel jobs of some teams, each of which causes a webhook.
func (e *env) cancels(teams int) prepareWithReceivers {
	return func(ctx context.Context, s *instance, r *receivers) (measureFunc, error) {
		kinds := max(hosts, teams)
		keys, templates := make([]string, kinds), make([]string, kinds)
		for n := range kinds {
			team := *s
			if n%teams > 0 {
				var err error
				if team.key, err = s.createKey(ctx, fmt.Sprint("bench ", n%teams)); err != nil {
					return nil, err
				}
			}
			j := newJob(n)
			j.Webhooks = &webhooks{OnStatusChange: r.url(n)}
			id, err := team.createJob(ctx, j)
			if err != nil {
				return nil, err
			}
			keys[n], templates[n] = team.key, id
		}
		each := e.requestsPerRound() / kinds
		return func(ctx context.Context) (report.Metrics, error) {
			first := s.copied
			for _, id := range templates {
				if _, err := s.copyOf(ctx, id, each, nil); err != nil {
					return nil, err
				}
			}
			var taken atomic.Int64
			next := func(int, int) []byte {
				i := int(taken.Add(1)) - 1
				if i >= each*kinds {
					return nil
				}
				at := first + i%kinds*each + i/kinds // the teams and receivers in rotation
				return encode(http.MethodDelete, jobsPath+"/"+copyID(at), keys[i%kinds], nil)
			}
			return e.measureDelivered(ctx, s, r, each*kinds, next)
		}, nil
	}
}

// measureDelivered sends requests, each of which causes one webhook, and waits
// for the webhooks.
func (e *env) measureDelivered(ctx context.Context, s *instance, r *receivers, count int, next load.Next) (report.Metrics, error) {
	before := e.usedBy(s)
	m, err := loadDelivered(ctx, s.Address, r, count, next)
	if err == nil {
		m[cpu] = float64((e.usedBy(s) - before).Microseconds()) / float64(count)
	}
	return m, err
}

// loadDelivered is measureDelivered without the CPU time.
func loadDelivered(ctx context.Context, address string, r *receivers, count int, next load.Next) (report.Metrics, error) {
	r.reset()
	start := time.Now()
	result, err := load.Closed(ctx, address, receiverTimeout, next)
	if err != nil {
		return nil, err
	}
	if err := r.await(ctx, count); err != nil {
		return nil, err
	}
	m := metrics(result)
	m[delivered] = float64(count) / r.lastAt().Sub(start).Seconds()
	return m, nil
}

// bareSenders starts limits that send webhooks, and measures as many requests as
// events does.
func (e *env) bareSenders(ctx context.Context, kinds ...limit.Kind) (all []contestant, err error) {
	for _, kind := range kinds {
		for _, database := range e.databases {
			c, err := e.bareSender(ctx, kind, database)
			if err != nil {
				return all, err
			}
			all = append(all, c)
			if _, err := c.measure(ctx); err != nil { // warms up
				return all, err
			}
		}
	}
	return all, nil
}

// bareSender starts a limit that sends webhooks.
func (e *env) bareSender(ctx context.Context, kind limit.Kind, database string) (contestant, error) {
	r, err := newReceivers(ctx, hosts)
	if err != nil {
		return contestant{}, err
	}
	l, err := e.startLimit(ctx, kind, database)
	if err != nil {
		r.close()
		return contestant{}, err
	}
	var to [hosts]load.Next
	for n := range to {
		j := newJob(n)
		j.Webhooks = &webhooks{OnStatusChange: r.url(n)}
		to[n] = createsOf(limit.Path, limit.Key, j)
	}
	ofRound := e.requestsPerRound() / load.Connections
	next := upTo(ofRound, func(connection, n int) []byte { return to[(connection+n)%hosts](connection, n) })
	measure := func(ctx context.Context) (report.Metrics, error) {
		return loadDelivered(ctx, l.Address, r, ofRound*load.Connections, next)
	}
	return contestant{program: string(kind), database: database, measure: measure, close: func() error {
		r.close()
		return l.Stop()
	}}, nil
}

// events report events of bots. Each bot pauses and resumes its recording again
// and again, and each event changes the status of its job and causes a webhook.
func (e *env) events(ctx context.Context, s *instance, r *receivers) (measureFunc, error) {
	bots := make([]*reporter, recordings)
	for i := range bots {
		j := newJob(i)
		j.JoinAt = time.Now().Add(-time.Second).UTC().Truncate(time.Second)
		j.Webhooks = &webhooks{OnStatusChange: r.url(i)}
		id, err := s.createJob(ctx, j)
		if err != nil {
			return nil, err
		}
		bots[i] = &reporter{id: id, token: ingest.Token([]byte(signingKey), id, 0)}
	}
	if err := s.awaitDispatched(ctx, bots[len(bots)-1].id); err != nil {
		return nil, err
	}
	const ofConnection = recordings / load.Connections
	event := func(connection, n int) []byte {
		return bots[connection*ofConnection+n%ofConnection].next()
	}
	r.reset()
	warm, err := load.Closed(ctx, s.Address, receiverTimeout, upTo(ofConnection, event)) // each starts its recording
	if err != nil {
		return nil, err
	}
	if err := r.await(ctx, warm.Requests); err != nil {
		return nil, err
	}
	ofRound := e.requestsPerRound() / load.Connections
	return func(ctx context.Context) (report.Metrics, error) {
		return e.measureDelivered(ctx, s, r, ofRound*load.Connections, upTo(ofRound, event))
	}, nil
}

// upTo limits the requests of each connection.
func upTo(count int, next load.Next) load.Next {
	return func(connection, n int) []byte {
		if n >= count {
			return nil
		}
		return next(connection, n)
	}
}

// reporter reports the events of a bot.
type reporter struct {
	id, token string
	events    int
	last      time.Time
}

// next returns the next event: the recording starts, pauses, starts again, …
func (b *reporter) next() []byte {
	kind := jobs.BotRecordingStarted
	if b.events%2 == 1 {
		kind = jobs.BotRecordingPaused
	}
	b.events++
	at := time.Now().UTC().Truncate(time.Millisecond)
	if !at.After(b.last) {
		at = b.last.Add(time.Millisecond) // events differ in their times
	}
	b.last = at
	return encode(http.MethodPost, ingest.EventPath, b.token, ingest.Event{Kind: kind, JobID: b.id, EmittedAt: at})
}

// awaitDispatched waits until a job that is due was dispatched.
func (s *instance) awaitDispatched(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		text, err := s.call(ctx, http.MethodGet, jobsPath+"/"+id, nil)
		if err != nil {
			return err
		}
		var j struct {
			Status jobs.Status `json:"status"`
		}
		if err := json.Unmarshal(text, &j); err != nil {
			return err
		}
		if j.Status == jobs.Dispatching {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("job %s is %s and not dispatched: %w", id, j.Status, ctx.Err())
		}
	}
}

// outbox delivers webhooks that are in the outbox already.
func (e *env) outbox(ctx context.Context, s *instance, r *receivers) (measureFunc, error) {
	j := newJob(0)
	j.Webhooks = &webhooks{OnStatusChange: r.url(0)}
	id, err := s.createJob(ctx, j)
	if err != nil {
		return nil, err
	}
	if _, err := s.call(ctx, http.MethodDelete, jobsPath+"/"+id, nil); err != nil {
		return nil, err
	}
	if err := r.await(ctx, 1); err != nil {
		return nil, err
	}
	delivery, err := seed.DeliveryID(ctx, s.address)
	if err != nil {
		return nil, err
	}
	urls := make([]string, len(r.hosts))
	for i := range urls {
		urls[i] = r.url(i)
	}
	count := min(sentAlone, 5*e.requestsPerRound())
	return func(ctx context.Context) (report.Metrics, error) {
		r.reset()
		copies, err := s.copyOf(ctx, id, count, nil)
		if err != nil {
			return nil, err
		}
		copies.Of = delivery
		if err := seed.Deliveries(ctx, s.address, copies, urls); err != nil {
			return nil, err
		}
		if err := r.await(ctx, count); err != nil {
			return nil, err
		}
		return report.Metrics{delivered: float64(count) / r.span().Seconds()}, nil
	}, nil
}
