package store

import "context"

// TerminateNotifiers terminates the connections on which nodes send and receive
// notifications.
func (q *Queries) TerminateNotifiers(ctx context.Context) error {
	_, err := q.exec(ctx, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE datname = current_database() AND (query LIKE 'LISTEN%' OR query LIKE '%pg_notify%' OR query LIKE 'SELECT 1%' OR query LIKE '-- ping%') AND pid <> pg_backend_pid()`)
	return err
}
