package bot

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	"standin/internal/bot/meeting"
	"standin/internal/ingest"
	"standin/internal/job"
)

// outcome is how a request for permission to record ended (contract, Manifest).
type outcome string

const (
	granted  outcome = "granted"
	denied   outcome = "denied"
	timedOut outcome = "timeout"
)

// verdict is an outcome with its reason, for people.
type verdict struct {
	outcome outcome
	detail  string
}

// consent is the host's permission to record, as far as it is being asked for.
// It outlives a browser: whoever comes back asks again, and the time goes on.
type consent struct {
	commands []string          // to be answered; the empty one is the bot's own question
	by       meeting.AskMethod // how the host was asked last; empty until he was
	askedAt  time.Time         // for the first time
	recorded bool              // the platform said that it records before the host was asked

	heard  map[string]bool // chat messages that were ever in sight
	before map[string]bool // those of before the question
}

// open reports whether an answer is awaited.
func (c *consent) open() bool { return len(c.commands) > 0 }

// notice keeps which chat messages were in sight.
func (c *consent) notice(seen meeting.Observation) {
	if c.heard == nil {
		c.heard = make(map[string]bool)
	}
	for _, message := range seen.Chat {
		c.heard[message.ID] = true
	}
}

// asking prepares for the question: what was there before is no answer to it.
func (c *consent) asking(last meeting.Observation) {
	c.by, c.recorded = "", last.Recorded
	c.before = maps.Clone(c.heard)
}

// answer tells whether an observation holds the answer. What platforms show of
// their own counts however the host was asked.
func (c *consent) answer(seen meeting.Observation) (verdict, bool) {
	switch {
	case !c.open() || c.by == "":
		return verdict{}, false
	case seen.Permission == meeting.Granted:
		return verdict{granted, "The host allowed it on the page."}, true
	case seen.Permission == meeting.Refused:
		return verdict{denied, "The host refused it on the page."}, true
	case seen.Recorded && !c.recorded:
		return verdict{granted, "The platform says that the meeting is being recorded."}, true
	case c.by == meeting.AskByChat:
		return c.answerInChat(seen.Chat)
	}
	return verdict{}, false
}

// answerInChat looks for answers below the bot's own question. One no among
// several counts.
func (c *consent) answerInChat(chat []meeting.ChatMessage) (verdict, bool) {
	asked := -1
	for i, message := range chat {
		if message.Own && !c.before[message.ID] && strings.Contains(strings.ToLower(message.Text), "record") {
			asked = i
			break
		}
	}
	if asked < 0 {
		return verdict{}, false // it is not in sight: nothing is known to come after it
	}
	var found verdict
	for _, message := range chat[asked+1:] {
		yes, ok := readReply(message.Text)
		switch {
		case !ok || message.Own || c.before[message.ID]:
		case !yes:
			return verdict{denied, replied(message)}, true
		case found.outcome == "":
			found = verdict{granted, replied(message)}
		}
	}
	return found, found.outcome != ""
}

// replied tells of an answer in the chat.
func replied(message meeting.ChatMessage) string {
	author := message.Author
	if author == "" {
		author = "somebody"
	}
	return fmt.Sprintf("In the chat %s answered: %s", author, strings.TrimSpace(message.Text))
}

// requestPermission asks the host for permission to record. A request that
// comes while another one is open gets the same answer.
func (v *visit) requestPermission(ctx context.Context, command string) {
	first := !v.consent.open()
	v.consent.commands = append(v.consent.commands, command)
	if first {
		v.consent.askedAt = time.Time{}
		v.ask(ctx)
	}
}

// ask asks the host, by the page or by the chat.
func (v *visit) ask(ctx context.Context) {
	var by meeting.AskMethod
	v.consent.by = ""
	v.hands.add(ctx, errand{
		name: "ask for permission", patience: v.Timeouts.Command,
		due: func() bool { v.consent.asking(v.last); return v.consent.open() },
		do: func(ctx context.Context) (err error) {
			by, err = v.adapter.AskPermission(ctx, v.page, v.DisplayName)
			return err
		},
		then: func(ctx context.Context, err error) (ending, bool) {
			switch {
			case ctx.Err() != nil || v.phase != inside:
				return ending{}, false // the page went away under the question
			case err != nil:
				return v.answered(verdict{timedOut, "The host could not be asked: " + err.Error()})
			}
			v.consent.by = by
			if !v.consent.askedAt.IsZero() {
				return ending{}, false // told before
			}
			v.consent.askedAt = time.Now()
			return v.told(job.BotPermissionRequest, permissionData{CommandID: v.consent.commands[0], By: by})
		},
	})
}

// permissionData is what the events about permission carry.
type permissionData struct {
	ingest.EventData
	CommandID string            `json:"commandId,omitempty"`
	By        meeting.AskMethod `json:"askedBy,omitempty"`
}

// sawAnswer looks for the host's answer.
func (v *visit) sawAnswer(ctx context.Context, seen meeting.Observation) (ending, bool) {
	v.consent.notice(seen)
	found, ok := v.consent.answer(seen)
	if !ok {
		return ending{}, false
	}
	v.stopAsking(ctx)
	if end, over := v.answered(found); over {
		return end, true
	}
	v.record(ctx) // what waited for it
	return ending{}, false
}

// checkAnswer ends a question that nobody answers.
func (v *visit) checkAnswer(ctx context.Context, now time.Time) (ending, bool) {
	if !v.consent.open() || v.consent.askedAt.IsZero() || now.Sub(v.consent.askedAt) < v.PermissionTimeout {
		return ending{}, false
	}
	v.stopAsking(ctx)
	return v.answered(verdict{timedOut, fmt.Sprintf("The host did not answer within %s.", v.PermissionTimeout)})
}

// stopAsking puts away what the question opened on the page.
func (v *visit) stopAsking(ctx context.Context) {
	v.hands.add(ctx, errand{
		name: "stop asking", patience: lookTime,
		do: func(ctx context.Context) error { return v.adapter.ClosePermissionRequest(ctx, v.page) },
	})
}

// answered tells everyone who asked, and ends a visit that needed the
// permission and has not got it.
func (v *visit) answered(found verdict) (ending, bool) {
	if err := v.tellAnswer(found); err != nil {
		return failed(job.InternalError, err.Error()), true
	}
	if found.outcome == granted {
		v.permitted = true
	}
	if v.RequirePermission && !v.permitted {
		return ending{
			code: job.RecordingDisabled, reason: reasonPermission,
			detail: "Recording needs the host's permission, which was not given. " + found.detail,
		}, true
	}
	return ending{}, false
}

// tellAnswer answers every open request.
func (b *bot) tellAnswer(found verdict) error {
	yes := found.outcome == granted
	for _, command := range b.consent.commands {
		b.Log.Info("permission to record", "command", command, "outcome", found.outcome, "detail", found.detail)
		err := b.tell(job.BotPermissionResponse, permissionData{
			EventData: ingest.EventData{Granted: &yes, Outcome: string(found.outcome), Detail: found.detail},
			CommandID: command,
		})
		if err != nil {
			return err
		}
	}
	b.consent.commands, b.consent.by = nil, ""
	return nil
}
