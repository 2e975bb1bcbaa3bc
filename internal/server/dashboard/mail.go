package dashboard

import (
	"errors"
	"time"

	"github.com/google/uuid"

	"standin/internal/calendar/mail"
	"standin/internal/jobs/lifecycle"
)

// maxMails is the number of messages on a page.
const maxMails = 50

// mailView is the data of the mail page.
type mailView struct {
	Worker   bool // has received mail
	Messages []mailMessage
	Older    string // ID before which older messages are; empty if there are none
}

// mailMessage is a received message.
type mailMessage struct {
	mail.Record
	Tone string
}

func (d *Dashboard) mailPage(req *pageRequest) error {
	before := uuid.Nil
	if text := req.URL.Query().Get("before"); text != "" {
		var err error
		if before, err = uuid.Parse(text); err != nil {
			return errNoPage
		}
	}
	records, err := d.Mail.Records(req.Context(), before, maxMails+1)
	if err != nil {
		return err
	}
	shown := mailView{Worker: before != uuid.Nil || len(records) > 0}
	records, more := lifecycle.Cut(records, maxMails)
	if more {
		shown.Older = records[maxMails-1].ID.String()
	}
	tones := map[string]string{"waiting": "busy", "accepted": "good", "ignored": "still", "refused": "bad", "failed": "bad"}
	for _, r := range records {
		shown.Messages = append(shown.Messages, mailMessage{Record: r, Tone: tones[r.Verdict]})
	}
	return req.show("mail", "Mail", shown)
}

// retryMail processes a message again.
func (d *Dashboard) retryMail(req *pageRequest, id uuid.UUID) error {
	err := d.Mail.Retry(req.Context(), id, time.Now())
	if errors.Is(err, mail.ErrNoMessage) {
		return notFound("There is no such message.")
	}
	return req.redirectAfter(err, "/operator/mail?note=mail-retried")
}
