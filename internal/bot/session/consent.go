package session

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"standin/internal/bot/captions"
	"standin/internal/bot/ingest"
	"standin/internal/bot/meeting"
	"standin/internal/bot/report"
	"standin/internal/jobs/job"
)

// outcome is how a request for permission to record ended, as in the manifest.
type outcome string

const (
	granted  outcome = "granted"
	denied   outcome = "denied"
	timedOut outcome = "timeout"
)

// consentAnswer is an outcome with an explanation for people.
type consentAnswer struct {
	outcome outcome
	detail  string
}

// consent asks the host for permission to record and tracks the answer. It
// outlives a browser: after rejoining the bot asks again, within the same time.
type consent struct {
	log      *slog.Logger
	events   events
	required bool // nothing is recorded without permission
	timeout  time.Duration

	permitted bool
	commands  []string          // open requests, by command id; "" is the bot's own
	askedBy   meeting.AskMethod // how the host was asked; "" until then
	askedAt   time.Time         // when the host was first asked

	// seen has the ids of all chat messages so far. After ingest.MaxChatMessages, old and
	// new ones cannot be told apart, and the chat answers no request.
	seen       map[string]bool
	seenBefore map[string]bool // ids of the chat messages before the host was asked
}

// permissionData is the data of the event bot_permission_request.
type permissionData struct {
	ingest.EventData
	By meeting.AskMethod `json:"askedBy,omitempty"`
}

// allowsRecording reports whether recording may start.
func (c *consent) allowsRecording() bool { return c.permitted || !c.required }

// open reports whether an answer is awaited.
func (c *consent) open() bool { return len(c.commands) > 0 }

// admit asks the host on admission: again if a request is open, since the page
// that asked is gone, or first if permission is required.
func (c *consent) admit(ctx context.Context, page *meetingPage) {
	switch {
	case c.open():
		c.ask(ctx, page, nil)
	case !c.allowsRecording():
		c.request(ctx, page, nil)
	}
}

// request asks the host for permission to record; command is nil for the bot's own
// request. A request made while another one is open gets the same answer.
func (c *consent) request(ctx context.Context, page *meetingPage, command *ingest.Command) {
	var id string
	if command != nil {
		id = command.ID
	}
	first := !c.open()
	if !slices.Contains(c.commands, id) {
		c.commands = append(c.commands, id)
	}
	switch {
	case first:
		c.askedAt = time.Time{}
		c.ask(ctx, page, command)
	case command != nil:
		page.pageQueue.settle(*command, nil)
	}
}

// ask asks the host, through the page or the chat. command, which may be nil, is
// executed by it.
func (c *consent) ask(ctx context.Context, page *meetingPage, command *ingest.Command) {
	var by meeting.AskMethod
	c.askedBy = ""
	page.pageQueue.add(ctx, task{
		timeout: page.timeouts.Command, command: command,
		shouldRun: func() bool { c.prepare(); return c.open() },
		do: func(ctx context.Context) (err error) {
			by, err = page.adapter.AskPermission(ctx, page.tab, page.displayName)
			return err
		},
		onDone: func(ctx context.Context, err error) *exitResult {
			switch {
			case ctx.Err() != nil || page.phase != phaseAdmitted:
				return nil // the page was left meanwhile
			case err != nil:
				return c.answer(consentAnswer{timedOut, "The host could not be asked: " + err.Error()})
			}
			c.askedBy = by
			if !c.askedAt.IsZero() {
				return nil // already reported
			}
			c.askedAt = time.Now()
			return c.events.emitOrExit(job.BotPermissionRequest, permissionData{ingest.EventData{CommandID: c.commands[0]}, by})
		},
	})
}

// prepare remembers the state before the question: nothing in it is an answer.
func (c *consent) prepare() {
	c.askedBy = ""
	c.seenBefore = maps.Clone(c.seen)
}

// handleSnapshot looks for the host's answer.
func (c *consent) handleSnapshot(ctx context.Context, page *meetingPage, seen meeting.Observation) (answered bool, end *exitResult) {
	c.noteChat(seen)
	answer, ok := c.findAnswer(seen)
	if !ok {
		return false, nil
	}
	c.stopAsking(ctx, page)
	return true, c.answer(answer)
}

// noteChat remembers the chat messages that are shown.
func (c *consent) noteChat(seen meeting.Observation) {
	if c.seen == nil {
		c.seen = make(map[string]bool)
	}
	for _, message := range seen.Chat {
		if len(c.seen) < ingest.MaxChatMessages {
			c.seen[message.ID] = true
		}
	}
}

// findAnswer returns the answer that a page shows. The platform's notice that the meeting is
// recorded is none: it may be about another recording.
func (c *consent) findAnswer(seen meeting.Observation) (consentAnswer, bool) {
	switch {
	case !c.open() || c.askedBy == "":
		return consentAnswer{}, false
	case seen.Permission == meeting.Granted:
		return consentAnswer{granted, "The host allowed it on the page."}, true
	case seen.Permission == meeting.Refused:
		return consentAnswer{denied, "The host refused it on the page."}, true
	case c.askedBy == meeting.AskByChat && len(c.seen) < ingest.MaxChatMessages:
		if reply, ok := captions.FindReply(seen.Chat, c.seenBefore); ok && reply.Granted {
			return consentAnswer{granted, reply.Detail}, true
		} else if ok {
			return consentAnswer{denied, reply.Detail}, true
		}
	}
	return consentAnswer{}, false
}

// check ends a request that was not answered in time.
func (c *consent) check(ctx context.Context, page *meetingPage, now time.Time) *exitResult {
	if !c.open() || c.askedAt.IsZero() || now.Sub(c.askedAt) < c.timeout {
		return nil
	}
	c.stopAsking(ctx, page)
	return c.answer(consentAnswer{timedOut, fmt.Sprintf("The host did not answer within %s.", c.timeout)})
}

// stopAsking closes what the request opened on the page.
func (c *consent) stopAsking(ctx context.Context, page *meetingPage) {
	page.pageQueue.add(ctx, task{
		timeout: snapshotTimeout,
		do:      func(ctx context.Context) error { return page.adapter.ClosePermissionRequest(ctx, page.tab) },
	})
}

// answer answers all open requests, and ends a session that required permission
// and did not get it.
func (c *consent) answer(answer consentAnswer) *exitResult {
	if err := c.emitAnswer(answer); err != nil {
		return internalError(err)
	}
	if answer.outcome == granted {
		c.permitted = true
	}
	if !c.allowsRecording() {
		return &exitResult{
			code: job.RecordingDisabled, reason: report.ReasonPermission,
			detail: "Recording needs the host's permission, which was not given. " + answer.detail,
		}
	}
	return nil
}

// emitAnswer emits the answer to every open request.
func (c *consent) emitAnswer(answer consentAnswer) error {
	yes := answer.outcome == granted
	for _, command := range c.commands {
		c.log.Info("permission to record", "command", command, "outcome", answer.outcome, "detail", answer.detail)
		err := c.events.Emit(job.BotPermissionResponse, ingest.EventData{
			Granted: &yes, Outcome: string(answer.outcome), Detail: answer.detail, CommandID: command,
		})
		if err != nil {
			return err
		}
	}
	c.commands, c.askedBy = nil, ""
	return nil
}
