package httpapi

import (
	"maps"

	"standin/internal/account"
	"standin/internal/bot/ingest"
)

// handlers returns the handler of each operation, by operation ID.
func (a *API) handlers() map[string]handler {
	all := a.botHandlers()
	maps.Copy(all, a.serviceHandlers())
	for operation, handle := range a.teamHandlers() {
		all[operation] = a.forConsumer(handle)
	}
	for operation, handle := range a.jobHandlers() {
		all[operation] = a.forConsumer(ofJob(handle))
	}
	for operation, handle := range a.calendarHandlers() {
		all[operation] = a.forConsumer(named("calendar", handle))
	}
	for operation, handle := range a.adminHandlers() {
		all[operation] = a.forScope(account.AdminScope, handle)
	}
	return all
}

// teamHandlers returns the handlers for the owners of API keys.
func (a *API) teamHandlers() map[string]consumerHandler {
	return map[string]consumerHandler{
		"createJob":            a.createJob,
		"createJobs":           a.createJobs,
		"listJobs":             a.listJobs,
		"getJob":               a.getJob,
		"getJobSettings":       a.getJobSettings,
		"getJobDetails":        a.getJobDetails,
		"liveJob":              a.liveJob,
		"listenToJob":          a.listenToJob,
		"getManifest":          a.getManifest,
		"getTranscript":        a.getTranscript,
		"searchTexts":          a.searchTexts,
		"getMedia":             a.getMedia,
		"headMedia":            a.getMedia,
		"getMe":                a.getMe,
		"getUsage":             a.getUsage,
		"listWebhookEndpoints": a.listWebhookEndpoints,
		"getWebhookEndpoint":   named("webhook endpoint", a.getWebhookEndpoint),
		"testWebhookEndpoint":  named("webhook endpoint", a.testWebhookEndpoint),
		"retryWebhookEndpoint": named("webhook endpoint", a.retryWebhookEndpoint),
		"listTeamDeliveries":   a.listTeamDeliveries,
		"getDelivery":          a.getDelivery,
		"redeliverDelivery":    a.redeliverDelivery,
		"redeliverFailed":      a.redeliverFailed,
		"createCalendar":       a.createCalendar,
		"listCalendars":        a.listCalendars,
		"listAccounts":         a.listAccounts,
		"getAccount":           named("account", a.getAccount),
	}
}

// jobHandlers returns the handlers of operations on a job.
func (a *API) jobHandlers() map[string]idHandler {
	return map[string]idHandler{
		"getScreenshot":              a.getScreenshot,
		"patchJob":                   a.patchJob,
		"cancelJob":                  changing(a.Jobs.Cancel),
		"requestRecordingPermission": a.command(ingest.RequestRecordingPermission),
		"pauseRecording":             a.command(ingest.PauseRecording),
		"resumeRecording":            a.command(ingest.ResumeRecording),
		"stopRecording":              a.command(ingest.StopRecording),
		"leaveCall":                  a.command(ingest.LeaveCall),
		"sendChatMessage":            a.sendChatMessage,
		"pinParticipant":             a.pinParticipant,
		"playAudio":                  a.playAudio,
		"speak":                      a.speak,
		"stopOutput":                 a.command(ingest.StopOutput),
		"setCamera":                  a.showPicture("setCamera", ingest.SetCamera),
		"shareScreen":                a.showPicture("shareScreen", ingest.ShareScreen),
		"transcribeAgain":            a.transcribeAgain,
		"deleteRecording":            changing(a.Jobs.DeleteRecording),
		"listTimeline":               a.listTimeline,
		"listDeliveries":             a.listDeliveries,
		"redeliver":                  a.redeliver,
	}
}

// calendarHandlers returns the handlers of operations on a connected calendar.
func (a *API) calendarHandlers() map[string]idHandler {
	return map[string]idHandler{
		"getCalendar":        a.getCalendar,
		"patchCalendar":      a.patchCalendar,
		"deleteCalendar":     a.deleteCalendar,
		"syncCalendar":       a.syncCalendar,
		"listCalendarEvents": a.listCalendarEvents,
		"patchCalendarEvent": a.patchCalendarEvent,
	}
}

// adminHandlers returns the handlers that need a key with the scope admin.
func (a *API) adminHandlers() map[string]consumerHandler {
	return map[string]consumerHandler{
		"listKeys":              a.listKeys,
		"createKey":             a.createKey,
		"listAuditLog":          a.listAuditLog,
		"revokeKey":             named("key", a.revokeKey),
		"createWebhookEndpoint": a.createWebhookEndpoint,
		"patchWebhookEndpoint":  named("webhook endpoint", a.patchWebhookEndpoint),
		"deleteWebhookEndpoint": named("webhook endpoint", changing(a.Jobs.DeleteEndpoint)),
		"rotateWebhookSecret":   a.rotateWebhookSecret,
		"createAccount":         a.createAccount,
		"patchAccount":          named("account", a.patchAccount),
		"deleteAccount":         named("account", a.deleteAccount),
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
		"borrowAccount":    a.borrowAccount,
		"returnAccount":    a.returnAccount,
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
