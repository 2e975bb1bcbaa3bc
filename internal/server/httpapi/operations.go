package httpapi

import (
	"maps"

	"standin/internal/account"
)

// handlers returns the handler of each operation, by operation ID.
func (a *API) handlers() map[string]handler {
	all := a.jobHandlers()
	maps.Copy(all, a.teamHandlers())
	maps.Copy(all, a.webhookHandlers())
	maps.Copy(all, a.calendarHandlers())
	maps.Copy(all, a.botHandlers())
	maps.Copy(all, a.serviceHandlers())
	return all
}

// jobHandlers returns the handlers of jobs, their commands and their recordings.
func (a *API) jobHandlers() map[string]handler {
	return map[string]handler{
		"createJob":      a.forConsumer(a.createJob),
		"createJobs":     a.forConsumer(a.createJobs),
		"listJobs":       a.forConsumer(a.listJobs),
		"getJob":         a.forConsumer(a.getJob),
		"getJobSettings": a.forConsumer(a.getJobSettings),
		"getJobDetails":  a.forConsumer(a.getJobDetails),
		"liveJob":        a.forConsumer(a.liveJob),
		"listenToJob":    a.forConsumer(a.listenToJob),
		"getScreenshot":  a.forConsumer(ofJob(a.getScreenshot)),
		"patchJob":       a.forConsumer(ofJob(a.patchJob)),
		"cancelJob":      a.forConsumer(ofJob(a.cancelJob)),

		"requestRecordingPermission": a.forConsumer(ofJob(a.command(a.Controls.RequestRecordingPermission))),
		"pauseRecording":             a.forConsumer(ofJob(a.command(a.Controls.PauseRecording))),
		"resumeRecording":            a.forConsumer(ofJob(a.command(a.Controls.ResumeRecording))),
		"stopRecording":              a.forConsumer(ofJob(a.command(a.Controls.StopRecording))),
		"leaveCall":                  a.forConsumer(ofJob(a.command(a.Controls.LeaveCall))),
		"sendChatMessage":            a.forConsumer(ofJob(a.sendChatMessage)),
		"pinParticipant":             a.forConsumer(ofJob(a.pinParticipant)),
		"playAudio":                  a.forConsumer(ofJob(a.playAudio)),
		"speak":                      a.forConsumer(ofJob(a.speak)),
		"stopOutput":                 a.forConsumer(ofJob(a.command(a.Controls.StopOutput))),
		"setCamera":                  a.forConsumer(ofJob(a.setCamera)),
		"shareScreen":                a.forConsumer(ofJob(a.shareScreen)),

		"getManifest":     a.forConsumer(a.getManifest),
		"getTranscript":   a.forConsumer(a.getTranscript),
		"transcribeAgain": a.forConsumer(ofJob(a.transcribeAgain)),
		"searchTexts":     a.forConsumer(a.searchTexts),
		"getMedia":        a.forConsumer(a.getMedia),
		"headMedia":       a.forConsumer(a.getMedia),
		"deleteRecording": a.forConsumer(ofJob(a.deleteRecording)),

		"listTimeline":   a.forConsumer(ofJob(a.listTimeline)),
		"listDeliveries": a.forConsumer(ofJob(a.listDeliveries)),
		"redeliver":      a.forConsumer(ofJob(a.redeliver)),
	}
}

// teamHandlers returns the handlers of a team's keys, usage and audit log.
func (a *API) teamHandlers() map[string]handler {
	return map[string]handler{
		"getMe":        a.forConsumer(a.getMe),
		"listKeys":     a.forScope(account.AdminScope, a.listKeys),
		"createKey":    a.forScope(account.AdminScope, a.createKey),
		"listAuditLog": a.forScope(account.AdminScope, a.listAuditLog),
		"getUsage":     a.forConsumer(a.getUsage),
		"revokeKey":    a.forScope(account.AdminScope, named("key", a.revokeKey)),
	}
}

// webhookHandlers returns the handlers of webhook endpoints and their deliveries.
func (a *API) webhookHandlers() map[string]handler {
	return map[string]handler{
		"listWebhookEndpoints":  a.forConsumer(a.listWebhookEndpoints),
		"createWebhookEndpoint": a.forScope(account.AdminScope, a.createWebhookEndpoint),
		"getWebhookEndpoint":    a.forConsumer(named("webhook endpoint", a.getWebhookEndpoint)),
		"patchWebhookEndpoint":  a.forScope(account.AdminScope, named("webhook endpoint", a.patchWebhookEndpoint)),
		"deleteWebhookEndpoint": a.forScope(account.AdminScope, named("webhook endpoint", a.deleteWebhookEndpoint)),
		"testWebhookEndpoint":   a.forConsumer(named("webhook endpoint", a.testWebhookEndpoint)),
		"retryWebhookEndpoint":  a.forConsumer(named("webhook endpoint", a.retryWebhookEndpoint)),
		"listTeamDeliveries":    a.forConsumer(a.listTeamDeliveries),
		"getDelivery":           a.forConsumer(a.getDelivery),
		"redeliverDelivery":     a.forConsumer(a.redeliverDelivery),
		"redeliverFailed":       a.forConsumer(a.redeliverFailed),
		"rotateWebhookSecret":   a.forScope(account.AdminScope, a.rotateWebhookSecret),
	}
}

// calendarHandlers returns the handlers of connected calendars.
func (a *API) calendarHandlers() map[string]handler {
	return map[string]handler{
		"createCalendar":     a.forConsumer(a.createCalendar),
		"listCalendars":      a.forConsumer(a.listCalendars),
		"getCalendar":        a.forConsumer(named("calendar", a.getCalendar)),
		"patchCalendar":      a.forConsumer(named("calendar", a.patchCalendar)),
		"deleteCalendar":     a.forConsumer(named("calendar", a.deleteCalendar)),
		"syncCalendar":       a.forConsumer(named("calendar", a.syncCalendar)),
		"listCalendarEvents": a.forConsumer(named("calendar", a.listCalendarEvents)),
		"patchCalendarEvent": a.forConsumer(named("calendar", a.patchCalendarEvent)),
	}
}

// botHandlers returns the handlers of what bots send and read.
func (a *API) botHandlers() map[string]handler {
	return map[string]handler{
		"ingestEvent":      a.ingestEvent,
		"ingestTexts":      a.ingestTexts,
		"heartbeat":        a.heartbeat,
		"ingestSound":      a.ingestSound,
		"ingestScreenshot": a.ingestScreenshot,
		"uploadMedia":      a.uploadMedia,
		"readOutput":       a.readOutput,
	}
}

// serviceHandlers returns the handlers of intake, payments, sign-in of the command line, health and documents.
func (a *API) serviceHandlers() map[string]handler {
	documents := perMinute(600)
	return map[string]handler{
		"intakeInvite":   a.authenticated("intakeSecret", a.intakeInvite),
		"hostMetrics":    a.authenticated("adminSecret", a.hostMetrics),
		"receivePayment": a.receivePayment,

		"initLogin":     a.perAddress(perMinute(60), a.initLogin),
		"pollLogin":     a.perAddress(perMinute(600), a.pollLogin),
		"completeLogin": a.perAddress(perMinute(60), a.completeLogin),

		"health":           a.health, // never limited, because a failed probe can restart the process
		"readiness":        a.readiness,
		"reference":        a.perAddress(documents, a.reference),
		"describe":         a.perAddress(documents, a.describe),
		"describeYAML":     a.perAddress(documents, a.describeYAML),
		"securityText":     a.perAddress(documents, a.securityText),
		"describeManifest": a.perAddress(documents, a.describeManifest),
	}
}
