package lifecycle

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/google/uuid"

	"standin/internal/ingest"
	"standin/internal/job"
)

// Details are what is known about a job beside its fields.
type Details struct {
	job.Summary             // with the participants who are in the meeting now, while it runs
	Speaking      []string  // the IDs of those of them who speak
	EndedAt       time.Time // zero for a job that has not ended
	TranscriptURI string    // of the transcript, or else the captions; empty without both
	Sources       []string  // how the bot was asked for, as store.JobSources returns them
}

// Details returns the details of jobs by ID. It reads the database twice.
func (s *Service) Details(ctx context.Context, jobs []job.Job) (map[uuid.UUID]Details, error) {
	ids := make([]uuid.UUID, len(jobs))
	for i, j := range jobs {
		ids[i] = j.ID
	}
	progress, err := s.Store.Progress(ctx, ids)
	if err != nil {
		return nil, err
	}
	sources, err := s.Store.JobSources(ctx, ids)
	if err != nil {
		return nil, err
	}
	all := make(map[uuid.UUID]Details, len(jobs))
	for _, j := range jobs {
		p := progress[j.ID]
		details := Details{Summary: p.Summary, Sources: sources[j.ID]}
		if j.Status.Terminal() {
			details.EndedAt = p.StatusSince
		}
		if j.Status.InCall() {
			details.Participants, details.Speaking = present(p.Stats)
		}
		if j.ManifestURI != "" && (p.Transcript || p.Captions) {
			details.TranscriptURI = strings.TrimSuffix(s.ManifestURI(j.ID), "manifest") + "transcript"
		}
		all[j.ID] = details
	}
	return all, nil
}

// present returns who is in the meeting, and who of them speaks, as of the bot's last
// heartbeat.
func present(encoded []byte) (people []job.Participant, speaking []string) {
	var stats ingest.Stats
	if len(encoded) == 0 || json.Unmarshal(encoded, &stats) != nil || stats.Roster == nil {
		return nil, nil
	}
	for _, p := range stats.Roster.Participants[:min(len(stats.Roster.Participants), job.MaxSummaryParticipants)] {
		people = append(people, job.Participant{ID: p.ID, Name: p.Name})
		if p.Speaking {
			speaking = append(speaking, p.ID)
		}
	}
	return people, speaking
}
