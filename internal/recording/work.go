package recording

import (
	"strings"

	"github.com/google/uuid"
)

// WorkPrefix is the prefix of the names of temporary folders in which a job's
// recording is worked on, in the service's data directory.
func WorkPrefix(jobID uuid.UUID) string { return workPrefix + jobID.String() + "-" }

const workPrefix = "work-"

// ParseWorkName returns the job of a folder with the prefix WorkPrefix.
func ParseWorkName(name string) (jobID uuid.UUID, ok bool) {
	rest, ok := strings.CutPrefix(name, workPrefix)
	if !ok || len(rest) < len(jobID.String()) {
		return uuid.Nil, false
	}
	jobID, err := uuid.Parse(rest[:len(jobID.String())])
	return jobID, err == nil
}
