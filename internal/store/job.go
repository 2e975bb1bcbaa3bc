package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"standin/internal/job"
)

// viewColumns are the columns of a job.Job. Reading all columns of a record takes
// twice as long.
const viewColumns = `id, consumer_id, mode, external_id, meeting_url, platform, display_name,
	join_at, created_at, on_status_change, on_finalize, metadata, auto_leave,
	status, status_before, attempts, attempt, started_at, finalized_at, manifest_uri, failure_code, failure_detail`

// jobColumns are the columns of a job.Record.
const jobColumns = viewColumns + `, status_since, sequence,
	wake_at, lease, attempt_began_at, launched_at, launch_failures, launch_error, heartbeat_at, stats,
	ical_uid, intake_key, recording_deleted_at, recording_deleted_by, recording_erased_at, node, prelaunch,
	bot_events, bot_event_bytes`

// Job returns the job, or a *job.Error with NotFound.
func (q *Queries) Job(ctx context.Context, id uuid.UUID) (job.Record, error) {
	return q.oneJob(ctx, `SELECT `+q.selects.record+` FROM jobs WHERE id = $1`, id)
}

// JobView is like Job without the fields that only the service uses.
func (q *Queries) JobView(ctx context.Context, id uuid.UUID) (job.Job, error) {
	if gathering, ok := q.conn.(gatheringConn); ok {
		return gathering.jobView(ctx, id)
	}
	return one(q.queryRow(ctx, `SELECT `+q.selects.view+` FROM jobs WHERE id = $1`, id), unpacked(q, scanView), "job")
}

// LockJob is like Job and locks the job until the transaction ends.
func (q *Queries) LockJob(ctx context.Context, id uuid.UUID) (job.Record, error) {
	return q.oneJob(ctx, `SELECT `+q.selects.record+` FROM jobs WHERE id = $1`+q.forUpdate, id)
}

// SaveJob updates the fields that change while a job runs. The caller has locked
// the job.
func (q *Queries) SaveJob(ctx context.Context, r job.Record) error {
	return q.saveColumns(ctx, []job.Record{r}, allSaved)
}

// JobChange is a job before and after its change.
type JobChange struct{ Before, After job.Record }

// SaveJobChanges is like SaveJob for different jobs, which LockFreeJobs has locked if
// they are many. It may save only the columns that changed: SQLite writes the index
// entries of all columns that it updates, whether or not they change.
func (q *Queries) SaveJobChanges(ctx context.Context, changes []JobChange) error {
	jobs := make([][]job.Record, len(savedSets))
	for _, c := range changes {
		i := slices.IndexFunc(savedSets, c.within)
		jobs[i] = append(jobs[i], c.After)
	}
	for i, saved := range savedSets {
		if err := q.saveColumns(ctx, jobs[i], saved); err != nil {
			return err
		}
	}
	return nil
}

// within reports whether some columns have all that changed.
func (c JobChange) within(saved *savedColumns) bool {
	return !slices.ContainsFunc(saved.others, func(column savedColumn) bool { return column.value(&c.Before) != column.value(&c.After) })
}

// savedColumn is a column that SaveJob updates. Its values are comparable.
type savedColumn struct {
	name  string
	value func(*job.Record) any
}

// launchColumns are the columns that change when a job is leased or a launch is
// recorded.
var launchColumns = []savedColumn{
	{"wake_at", func(r *job.Record) any { return nullMillis(r.WakeAt) }},
	{"lease", func(r *job.Record) any { return r.Lease }},
	{"launched_at", func(r *job.Record) any { return nullMillis(r.LaunchedAt) }},
}

// eventColumns are the columns that most events of a bot change, and others
// without an index.
var eventColumns = []savedColumn{
	{"status", func(r *job.Record) any { return string(r.Status) }},
	{"status_before", func(r *job.Record) any { return string(r.PreviousStatus) }},
	{"status_since", func(r *job.Record) any { return millis(r.StatusSince) }},
	{"started_at", func(r *job.Record) any { return nullMillis(r.StartedAt) }},
	{"finalized_at", func(r *job.Record) any { return nullMillis(r.FinalizedAt) }},
	{"failure_code", func(r *job.Record) any { return string(r.FailureCode) }},
	{"failure_detail", func(r *job.Record) any { return escapeNUL(r.FailureDetail) }},
	{"sequence", func(r *job.Record) any { return r.Sequence }},
	{"wake_at", func(r *job.Record) any { return nullMillis(r.WakeAt) }},
	{"heartbeat_at", func(r *job.Record) any { return nullMillis(r.HeartbeatAt) }},
	{"bot_events", func(r *job.Record) any { return r.BotEvents }},
	{"bot_event_bytes", func(r *job.Record) any { return r.BotEventBytes }},
}

var otherColumns = []savedColumn{
	{"join_at", func(r *job.Record) any { return millis(r.JoinAt) }},
	{"attempts", func(r *job.Record) any { return r.Attempts }},
	{"attempt", func(r *job.Record) any { return r.Attempt }},
	{"manifest_uri", func(r *job.Record) any { return r.ManifestURI }},
	{"lease", func(r *job.Record) any { return r.Lease }},
	{"attempt_began_at", func(r *job.Record) any { return nullMillis(r.AttemptStartedAt) }},
	{"launched_at", func(r *job.Record) any { return nullMillis(r.LaunchedAt) }},
	{"launch_failures", func(r *job.Record) any { return r.LaunchFailures }},
	{"launch_error", func(r *job.Record) any { return escapeNUL(r.LaunchError) }},
	{"stats", func(r *job.Record) any { return string(r.Stats) }},
	{"recording_deleted_at", func(r *job.Record) any { return nullMillis(r.RecordingDeletedAt) }},
	{"recording_deleted_by", func(r *job.Record) any { return r.RecordingDeletedBy }},
	{"recording_erased_at", func(r *job.Record) any { return nullMillis(r.RecordingErasedAt) }},
	{"node", func(r *job.Record) any { return r.Node }},
	{"prelaunch", func(r *job.Record) any { return string(r.Prelaunch) }},
}

// savedColumns are the columns of an UPDATE of jobs.
type savedColumns struct {
	columns []savedColumn
	others  []savedColumn // that it leaves unchanged
	one     string        // the text for one job; the last argument is its ID
	set     string        // the assignments for many jobs, from the table v
	types   []string      // of the columns of v, whose last one is the ID
}

// allSaved updates all columns that SaveJob updates.
var allSaved = newSavedColumns(slices.Concat(eventColumns, otherColumns))

// savedSets are updates of some of the columns, and of all of them.
var savedSets = []*savedColumns{newSavedColumns(launchColumns), newSavedColumns(eventColumns), allSaved}

func newSavedColumns(columns []savedColumn) *savedColumns {
	set, setMany, types := make([]string, len(columns)), make([]string, len(columns)), make([]string, len(columns)+1)
	for i, column := range columns {
		set[i] = fmt.Sprintf("%s = $%d", column.name, i+1)
		setMany[i] = fmt.Sprintf("%s = v.column%d", column.name, i+1)
		types[i] = "BIGINT"
		if _, isText := column.value(&job.Record{}).(string); isText {
			types[i] = "TEXT"
		}
	}
	types[len(columns)] = "TEXT"
	others := slices.Concat(eventColumns, otherColumns)
	others = slices.DeleteFunc(others, func(c savedColumn) bool {
		return slices.ContainsFunc(columns, func(saved savedColumn) bool { return saved.name == c.name })
	})
	return &savedColumns{
		columns: columns,
		others:  others,
		one:     fmt.Sprintf(`UPDATE jobs SET %s WHERE id = $%d`, strings.Join(set, ", "), len(types)),
		set:     strings.Join(setMany, ", "),
		types:   types,
	}
}

// row returns the arguments of the UPDATE of a job.
func (saved *savedColumns) row(r *job.Record) []any {
	args := make([]any, 0, len(saved.types))
	for _, column := range saved.columns {
		args = append(args, column.value(r))
	}
	return append(args, r.ID.String())
}

// minSavedTogether is the number of jobs from which one statement on SQLite saves them
// faster than a statement for each job.
const minSavedTogether = 8

// saveColumns saves columns of different jobs.
func (q *Queries) saveColumns(ctx context.Context, jobs []job.Record, saved *savedColumns) error {
	for some := range batches(q, jobs) {
		if len(some) >= minSavedTogether || len(some) > 1 && q.takesArrays() {
			if err := q.saveTogether(ctx, some, saved); err != nil {
				return err
			}
			continue
		}
		for _, r := range some {
			if err := q.execLater(ctx, expect(1, "save job %s", r.ID), saved.one, saved.row(&r)...); err != nil {
				return err
			}
		}
	}
	return nil
}

// saveTogether saves columns of different jobs in one statement.
func (q *Queries) saveTogether(ctx context.Context, jobs []job.Record, saved *savedColumns) error {
	rows := make([][]any, len(jobs))
	for i := range jobs {
		rows[i] = saved.row(&jobs[i])
	}
	values, args := q.table(rows, saved.types...)
	return q.execLater(ctx, expect(len(jobs), "save %d jobs", len(jobs)),
		`UPDATE jobs SET `+saved.set+` FROM `+values+fmt.Sprintf(` WHERE jobs.id = v.column%d`, len(saved.types)), args...)
}

// SaveJobRequest updates the requested fields of a job, which change only
// before it is dispatched. SaveJob updates joinAt.
func (q *Queries) SaveJobRequest(ctx context.Context, r job.Record) error {
	autoLeave, err := encodeAutoLeave(r.AutoLeave)
	if err != nil {
		return err
	}
	return q.execLater(ctx, doing("save the request of job %s", r.ID), `
		UPDATE jobs SET
			meeting_url = $2, platform = $3, display_name = $4, on_status_change = $5, on_finalize = $6,
			metadata = $7, auto_leave = $8, ical_uid = $9, ical_uid_hash = $10, intake_key = $11
		WHERE id = $1`,
		r.ID, r.MeetingURL, r.Platform, escapeNUL(r.DisplayName), r.Webhooks.OnStatusChange, r.Webhooks.OnFinalize,
		string(r.Metadata), autoLeave, escapeNUL(r.ICalUID), hashICalUID(r.ICalUID), nullText(r.CalendarKey))
}

// SaveHeartbeat stores the time of a bot's heartbeat and its statistics unless
// they are empty.
func (q *Queries) SaveHeartbeat(ctx context.Context, id uuid.UUID, now time.Time, stats json.RawMessage) error {
	return q.execLater(ctx, doing("save the heartbeat of job %s", id), `UPDATE jobs SET heartbeat_at = $2, stats = CASE WHEN $3 = '' THEN stats ELSE $3 END WHERE id = $1`,
		id, millis(now), string(stats))
}

// hashText returns the hash by which a text of any length is indexed.
func hashText(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// hashICalUID returns the hash by which an iCalUID is indexed, NULL for none.
func hashICalUID(uid string) sql.NullString {
	if uid == "" {
		return sql.NullString{}
	}
	return nullText(hashText(uid))
}

// oneJob reads the job of a query that selects q.selects.record.
func (q *Queries) oneJob(ctx context.Context, query string, args ...any) (job.Record, error) {
	return one(q.queryRow(ctx, query, args...), unpacked(q, scanJob), "job")
}

// scanView scans viewColumns.
func scanView(row scanner) (j job.Job, err error) {
	err = row.Scan(viewVariables(&j)...)
	return j, err
}

// viewScanner returns a function like scanView for many rows. It allocates the
// variables once.
func viewScanner() func(scanner) (job.Job, error) {
	j := new(job.Job)
	variables := viewVariables(j)
	return func(row scanner) (job.Job, error) {
		*j = job.Job{}
		err := row.Scan(variables...)
		return *j, err
	}
}

// viewVariables returns what viewColumns are scanned into.
func viewVariables(j *job.Job) []any {
	return []any{
		&j.ID, &j.ConsumerID, textColumn[job.Mode]{&j.Mode}, escapedColumn{&j.ExternalID}, &j.MeetingURL,
		textColumn[job.Platform]{&j.Platform}, escapedColumn{&j.DisplayName}, timeColumn{&j.JoinAt}, timeColumn{&j.CreatedAt},
		&j.Webhooks.OnStatusChange, &j.Webhooks.OnFinalize, (*[]byte)(&j.Metadata), autoLeaveColumn{&j.AutoLeave},
		textColumn[job.Status]{&j.Status}, textColumn[job.Status]{&j.PreviousStatus}, &j.Attempts, &j.Attempt,
		timeColumn{&j.StartedAt}, timeColumn{&j.FinalizedAt}, &j.ManifestURI, textColumn[job.FailureCode]{&j.FailureCode},
		escapedColumn{&j.FailureDetail},
	}
}

// autoLeaveColumn scans a column of JSON.
type autoLeaveColumn struct{ *job.AutoLeave }

// Scan implements sql.Scanner.
func (c autoLeaveColumn) Scan(value any) error { return scanValue(c, value) }

func (c autoLeaveColumn) scanText(text string) error {
	if text == defaultAutoLeave { // as most jobs have it
		*c.AutoLeave = job.DefaultAutoLeave()
		return nil
	}
	if err := json.Unmarshal([]byte(text), c.AutoLeave); err != nil {
		return fmt.Errorf("decode autoLeave: %w", err)
	}
	return nil
}

// encodeAutoLeave returns the JSON of autoLeave.
func encodeAutoLeave(autoLeave job.AutoLeave) (string, error) {
	if autoLeave == job.DefaultAutoLeave() {
		return defaultAutoLeave, nil
	}
	text, err := json.Marshal(autoLeave)
	if err != nil {
		return "", fmt.Errorf("encode autoLeave: %w", err)
	}
	return string(text), nil
}

// defaultAutoLeave is the JSON of job.DefaultAutoLeave.
const defaultAutoLeave = `{"afterEntryDelaySeconds":600,"afterSilenceSeconds":1200,"afterSoloSeconds":60,"afterMaxSeconds":14400,"onBotDetected":false}`

// scanJob scans jobColumns.
func scanJob(row scanner) (r job.Record, err error) {
	r.Job, err = scanView(extraColumns{row, []any{
		timeColumn{&r.StatusSince}, &r.Sequence,
		timeColumn{&r.WakeAt}, &r.Lease, timeColumn{&r.AttemptStartedAt}, timeColumn{&r.LaunchedAt}, &r.LaunchFailures, escapedColumn{&r.LaunchError},
		timeColumn{&r.HeartbeatAt}, (*[]byte)(&r.Stats),
		escapedColumn{&r.ICalUID}, nullTextColumn{&r.CalendarKey}, timeColumn{&r.RecordingDeletedAt}, &r.RecordingDeletedBy, timeColumn{&r.RecordingErasedAt}, &r.Node, textColumn[job.Prelaunch]{&r.Prelaunch},
		&r.BotEvents, &r.BotEventBytes,
	}})
	return r, err
}
