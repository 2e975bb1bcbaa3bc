package doctor

import (
	"errors"
	"testing"
)

func TestCheckMail(t *testing.T) {
	t.Parallel()
	expect(t, checkMail(Settings{}), OK, "no mail worker")
	expect(t, checkMail(Settings{Mail: true}), OK, "complete")
	expect(t, checkMail(Settings{
		Mail: true, MailError: errors.New("STANDIN_MAIL_RECIPIENTS must be set"),
	}), Fail, "STANDIN_MAIL_RECIPIENTS", "/docs/guide/mail.html")
}
