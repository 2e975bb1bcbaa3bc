package job

import (
	"fmt"
	"slices"
	"strings"
)

// Rule is a row of the transition table: from any of From, the trigger leads
// to To.
type Transition struct {
	Trigger Trigger
	Failing bool // the row for events that carry a failure code
	From    []Status
	To      Status // empty: back to the state before the permission request
}

// Rules is the whole transition table (contract, State machine). Forward
// jumps are legal; the only ways back are pause and resume, the permission
// loop and a new attempt. A job in permission_requested counts as being in the
// state it asked from.
func Transitions() []Transition {
	return []Transition{
		{Trigger: NoCapacity, From: []Status{Scheduled}, To: Pending},
		{Trigger: AttemptStarted, From: upTo(RecordingStopped), To: Dispatching},

		{Trigger: BotJoined, From: upTo(Dispatching), To: Joining},
		{Trigger: BotEnteringLobby, From: upTo(Joining), To: EnteringLobby},
		{Trigger: BotInMeeting, From: upTo(EnteringLobby), To: InMeeting},
		{Trigger: BotRecordingStarted, From: append(upTo(InMeeting), RecordingPaused), To: RecordingStarted},
		{Trigger: BotRecordingPaused, From: upTo(RecordingStarted), To: RecordingPaused},
		{Trigger: BotPermissionRequest, From: upTo(RecordingStopped), To: PermissionRequested},
		{Trigger: BotPermissionResponse, From: []Status{PermissionRequested}, To: ""},
		{Trigger: BotRecordingStopped, From: upTo(RecordingPaused), To: RecordingStopped},
		{Trigger: BotExited, From: upTo(RecordingStopped), To: Finalizing},
		{Trigger: BotExited, Failing: true, From: upTo(MediaUploading), To: Failed},
		{Trigger: BotPostProcessing, From: upTo(Finalizing), To: PostProcessing},
		{Trigger: BotMediaUploading, From: upTo(PostProcessing), To: MediaUploading},
		{Trigger: ManifestFinalized, From: upTo(MediaUploading), To: Completed},

		{Trigger: SalvageStarted, From: upTo(RecordingStopped), To: Finalizing},
		{Trigger: SalvagePacking, From: upTo(Finalizing), To: PostProcessing},
		{Trigger: SalvageStoring, From: upTo(PostProcessing), To: MediaUploading},

		{Trigger: CancelRequested, From: upTo(MediaUploading), To: Cancelled},
		{Trigger: GivenUp, Failing: true, From: upTo(MediaUploading), To: Failed},
	}
}

// upTo lists the states from scheduled up to and including last.
// permission_requested is never among them but by itself: see State.destination.
func upTo(last Status) []Status {
	order := slices.DeleteFunc(Statuses(), func(s Status) bool { return s == PermissionRequested })
	return order[: slices.Index(order, last)+1 : slices.Index(order, last)+1]
}

// Diagram draws the table as a Mermaid state diagram: the usual way, the ways
// back and the ends. Jumps ahead are legal but not drawn.
func Diagram() string {
	var b strings.Builder
	b.WriteString("stateDiagram-v2\n    [*] --> scheduled\n")
	for _, rule := range Transitions() {
		label := string(rule.Trigger)
		if rule.Failing {
			label += " with a failure code"
		}
		label = strings.ReplaceAll(label, ".", "·") // a dot ends a Mermaid label early
		switch {
		case rule.To == "":
			fmt.Fprintf(&b, "    %s --> in_meeting: %s (back to the state before)\n", PermissionRequested, label)
		case rule.To == Cancelled || rule.To == Failed:
			fmt.Fprintf(&b, "    %s --> %s: %s (from any state before)\n", rule.From[len(rule.From)-1], rule.To, label)
		case rule.Trigger == AttemptStarted:
			fmt.Fprintf(&b, "    %s --> %s: %s\n", Scheduled, rule.To, label)
			fmt.Fprintf(&b, "    %s --> %s: %s\n", Pending, rule.To, label)
			fmt.Fprintf(&b, "    %s --> %s: %s again (bot lost)\n", InMeeting, rule.To, label)
		case rule.Trigger == BotRecordingStarted:
			fmt.Fprintf(&b, "    %s --> %s: %s\n", InMeeting, rule.To, label)
			fmt.Fprintf(&b, "    %s --> %s: %s\n", RecordingPaused, rule.To, label)
		case rule.Trigger == BotPermissionRequest:
			fmt.Fprintf(&b, "    %s --> %s: %s\n", InMeeting, rule.To, label)
		default:
			fmt.Fprintf(&b, "    %s --> %s: %s\n", rule.From[len(rule.From)-1], rule.To, label)
		}
	}
	for _, status := range Statuses() {
		if status.Terminal() {
			fmt.Fprintf(&b, "    %s --> [*]\n", status)
		}
	}
	return b.String()
}
