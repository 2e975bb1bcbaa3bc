// Package simulator runs the jobs of test keys. It is a launcher whose bots open
// no browser: each is a goroutine that makes the same calls to the service as a
// real bot, so that a test job passes through the real state machine, outbox and
// finalization. The metadata of the job select what happens in the imaginary
// meeting; docs/simulator.md lists the choices.
package simulator
