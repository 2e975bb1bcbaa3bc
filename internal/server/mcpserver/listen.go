package mcpserver

import (
	"context"
	"errors"
	"time"
)

type listenInput struct {
	JobID   string `json:"jobId" jsonschema:"ID of the job, from send_bot or list_jobs."`
	Seconds int    `json:"seconds,omitempty" jsonschema:"How many of the last seconds to return."`
}

type listenResult struct {
	labeled
	Note      string `json:"note,omitempty" jsonschema:"Why there are no lines."`
	Untrusted heard  `json:"untrusted"`
}

type heard struct {
	Speaking []string `json:"speaking" jsonschema:"Who speaks, as of a few seconds ago."`
	Lines    []string `json:"lines" jsonschema:"What was said, such as [00:01:02] Ada: Good morning. The last line can still change. Times are since the start of the recording."`
	Chat     []string `json:"chat,omitempty" jsonschema:"Chat messages, in the same form."`
}

// listen returns who speaks in a meeting, and what was said in the last seconds.
func (s session) listen(ctx context.Context, in listenInput) (listenResult, error) {
	j, err := s.api.Job(ctx, in.JobID)
	if err != nil {
		return listenResult{}, err
	}
	if j.Ended() {
		return listenResult{}, errors.New("the job has ended: use get_transcript")
	}
	words, err := s.words(ctx, j, true)
	if err != nil {
		return listenResult{}, err
	}
	lines, _ := within(words.lines, max(0, words.end-time.Duration(in.Seconds)*time.Second), forever, maxCallText)
	result := listenResult{labeled: label(), Untrusted: heard{Speaking: append([]string{}, words.speaking...)}}
	result.Untrusted.Lines, result.Untrusted.Chat = texts(lines)
	if len(result.Untrusted.Lines) == 0 {
		result.Note = words.silence(j)
	}
	return result, nil
}
