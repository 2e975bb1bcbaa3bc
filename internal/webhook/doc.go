// Package webhook composes the events of jobs, signs them, and posts them until
// they are acknowledged or have failed permanently.
//
// Callers decide when an event happens: they compose it here and store it in the
// transaction that changes the job. The package contains no SQL. The Outbox
// interface is its access to the database.
package webhook
