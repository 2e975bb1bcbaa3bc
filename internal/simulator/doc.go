// Package simulator runs the jobs of test keys (contract, Accounts). It is a
// launcher whose bots open no browser: each is a goroutine that behaves towards
// the service as a real bot does, through the same calls, so that a test job
// passes through the real state machine, the real outbox and the real making
// of a manifest. What happens to a bot in its imagined meeting is chosen by
// the job's metadata; docs/simulator.md lists the choices.
//
// It knows nothing of HTTP, SQL or webhooks, and decides nothing about a job:
// like any bot it reports, and obeys commands.
package simulator
