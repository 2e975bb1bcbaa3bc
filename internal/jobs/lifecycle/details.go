package lifecycle

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
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
			details.Participants = nil
			var stats ingest.Stats // of the bot's last heartbeat
			if json.Unmarshal(p.Stats, &stats) == nil && stats.Roster != nil {
				for _, p := range stats.Roster.Participants[:min(len(stats.Roster.Participants), job.MaxSummaryParticipants)] {
					details.Participants = append(details.Participants, job.Participant{ID: p.ID, Name: p.Name})
					if p.Speaking {
						details.Speaking = append(details.Speaking, p.ID)
					}
				}
			}
		}
		if j.ManifestURI != "" && (p.Transcript || p.Captions) {
			details.TranscriptURI = strings.TrimSuffix(s.ManifestURI(j.ID), "manifest") + "transcript"
		}
		all[j.ID] = details
	}
	return all, nil
}

const (
	// watchTime is how long a request for a picture of a page lets its bot send them.
	watchTime = 30 * time.Second
	// screenshotLifetime is the age up to which a picture is shown. A bot sends one every
	// few seconds, and none while nothing may be recorded.
	screenshotLifetime = 15 * time.Second
)

// Screenshot returns the newest picture of the meeting page of a job's bot, and asks the bot
// for more. It returns the zero Screenshot if there is none of the last seconds, and a
// *job.Error with InvalidState if there can be none.
func (s *Service) Screenshot(ctx context.Context, caller account.Caller, id uuid.UUID) (found job.Screenshot, err error) {
	j, err := s.Job(ctx, caller, id)
	switch {
	case err != nil:
		return found, err
	case s.NoScreenshots:
		return found, job.NewInvalidState("pictures of meeting pages are turned off (STANDIN_NO_SCREENSHOTS)")
	case !hasPage(j.Status):
		return found, job.NewInvalidState("there is no meeting page: the job is %s", j.Status)
	}
	if found, err = s.Store.Screenshot(ctx, id); err != nil {
		return found, err
	}
	now := s.Now()
	if found.WatchedUntil.Sub(now) < watchTime/2 {
		err = s.Store.WatchScreenshot(ctx, id, now.Add(watchTime))
	}
	if now.Sub(found.TakenAt) > screenshotLifetime {
		found = job.Screenshot{}
	}
	return found, err
}

// hasPage reports whether the bot of a job has a meeting page, or may have.
func hasPage(status job.Status) bool { return status.Dispatched() && !status.Teardown() }
