package dashboard

import (
	"errors"
	"strconv"

	"standin/internal/calendar/mail"
)

// maxMails is the number of messages on a page.
const maxMails = 50

// mailView is the data of the mail page.
type mailView struct {
	Worker   bool // a worker has used the directory
	Messages []mailMessage
	Older    int64 // ID before which older messages are; 0 if there are none
}

// mailMessage is a received message.
type mailMessage struct {
	mail.Record
	Tone string
}

func (d *Dashboard) mailPage(req *pageRequest) error {
	before, err := strconv.ParseInt("0"+req.URL.Query().Get("before"), 10, 64)
	if err != nil {
		return notFound("There is no such page.")
	}
	shown := mailView{Worker: d.Mail.Exists()}
	records, err := d.Mail.Records(req.Context(), before, maxMails+1)
	if err != nil {
		return err
	}
	if len(records) > maxMails {
		records = records[:maxMails]
		shown.Older = records[maxMails-1].ID
	}
	tones := map[string]string{"waiting": "busy", "accepted": "good", "ignored": "still", "refused": "bad", "failed": "bad"}
	for _, r := range records {
		shown.Messages = append(shown.Messages, mailMessage{Record: r, Tone: tones[r.Verdict]})
	}
	return req.show("mail", "Mail", shown)
}

// retryMail processes a message again.
func (d *Dashboard) retryMail(req *pageRequest) error {
	id, err := strconv.ParseInt(req.PathValue("id"), 10, 64)
	if err == nil {
		err = d.Mail.Retry(req.Context(), id)
	} else {
		err = mail.ErrNoMessage
	}
	if errors.Is(err, mail.ErrNoMessage) {
		return notFound("There is no such message.")
	}
	return req.redirectAfter(err, "/operator/mail?note=mail-retried")
}
