package bot

import "standin/internal/job"

// The reasons why a visit ended in which the bot was in the meeting, as they
// stand in the manifest (contract, State machine).
const (
	reasonHostEnded   = "host_ended"
	reasonRemoved     = "removed"
	reasonAlone       = "alone"
	reasonSilence     = "silence"
	reasonMaximum     = "max_duration"
	reasonCompeting   = "competing_bot"
	reasonCommand     = "left_on_command"
	reasonPermission  = "permission_refused"
	reasonSuperseded  = "superseded"      // the service wants no more of this bot
	reasonShutdown    = "bot_stopped"     // the bot's process was told to end
	reasonBrowserLost = "browser_crashed" // and coming back failed
	reasonConnection  = "connection_lost" // the page died or lost its connection, and coming back failed
	reasonNoRecording = "recording_failed"
)

// ending is how a visit ended.
type ending struct {
	reason  string          // when the bot was in the meeting
	code    job.FailureCode // when it did not get there, or nothing can be recorded
	detail  string          // for people
	again   bool            // the meeting may still be on: another browser may go on
	unclear bool            // what the page shows is worth keeping for the operator
}

// shutdown is the ending of a visit whose bot was told to end. It is no fault
// of the meeting's.
func shutdown() ending {
	return ending{reason: reasonShutdown, code: job.InternalError, detail: "the bot's process was told to end"}
}

// failed is the ending of a visit that came to nothing.
func failed(code job.FailureCode, detail string) ending {
	return ending{code: code, detail: detail}
}

// interrupted is the ending of a visit whose page or connection was lost while
// the meeting may go on.
func interrupted(detail string) ending {
	return ending{reason: reasonConnection, code: job.NetworkLoss, detail: detail, again: true, unclear: true}
}
