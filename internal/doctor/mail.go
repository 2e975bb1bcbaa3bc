package doctor

// checkMail reports the check of the mail worker's settings.
func checkMail(settings Settings) Check {
	const name = checkName("mail")
	switch {
	case !settings.Mail:
		return name.ok("no mail worker is configured")
	case settings.MailError != nil:
		return name.fail(settings.MailError.Error(), "set the variables as in docs/mail.md")
	}
	return name.ok("the settings of the mail worker are complete")
}
