package store

import (
	"slices"
	"strings"

	"standin/internal/job"
)

// stateCondition returns the condition of a filter's statuses and platform, or ""
// without any. placeholder adds an argument.
func stateCondition(filter job.Filter, placeholder func(any) string) (condition string) {
	if len(filter.Statuses) > 0 {
		condition = ` AND status IN (` + strings.Join(placeholders(filter.Statuses, placeholder), `, `) + `)`
	}
	if filter.Platform != "" {
		condition += ` AND platform = ` + placeholder(filter.Platform)
	}
	return condition
}

// newestByState returns a query for the first jobs, in the sequence and up to the
// limit of rest, of each combination of a status and a platform that passes the
// filter. Each part of the query reads them from the index jobs_state in their
// order: the planners would read and sort all of them for several combinations.
func newestByState(filter job.Filter, placeholder func(any) string, query, rest string) string {
	statuses, platforms := job.Statuses(), job.Platforms()
	if len(filter.Statuses) > 0 {
		statuses = slices.Compact(slices.Sorted(slices.Values(filter.Statuses)))
	}
	if filter.Platform != "" {
		platforms = []job.Platform{filter.Platform}
	}
	onPlatforms := placeholders(platforms, placeholder)
	var parts []string
	for _, status := range placeholders(statuses, placeholder) {
		for _, platform := range onPlatforms {
			parts = append(parts, `SELECT * FROM (`+query+` AND status = `+status+` AND platform = `+platform+rest+`) AS part`)
		}
	}
	return strings.Join(parts, ` UNION ALL `)
}

// placeholders returns the placeholder of each value.
func placeholders[T any](values []T, placeholder func(any) string) []string {
	all := make([]string, len(values))
	for i, value := range values {
		all[i] = placeholder(value)
	}
	return all
}
