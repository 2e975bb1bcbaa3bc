// Package webhook tells consumers what becomes of their jobs: it shapes the
// job as the world sees it, composes the events of the specification, signs
// them, and posts them until they are acknowledged or given up.
//
// It decides how an event is told, never when one happens: whoever moves a job
// composes the event here and stores it in the same transaction as the move.
// It knows no SQL: what it needs of the database is the Outbox interface.
package webhook
