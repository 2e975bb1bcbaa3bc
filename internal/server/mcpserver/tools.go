package mcpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"regexp"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"standin/internal/jobs/job"
)

// tool adds a tool to the server of an agent.
type tool func(*mcp.Server, session)

// arguments are the schemas of the arguments of a tool, by their names.
type arguments map[string]*jsonschema.Schema

// define returns a tool. restrict adds to the schemas of its arguments what their Go types
// do not say; nil adds nothing.
func define[In, Out any](description mcp.Tool, restrict func(arguments), call func(session, context.Context, In) (Out, error)) tool {
	input, err := jsonschema.For[In](nil)
	if err != nil {
		panic(err) // the types of this package have schemas
	}
	if id := input.Properties["jobId"]; id != nil {
		arguments(input.Properties).text("jobId", 36, 36)
		id.Format = "uuid"
	}
	if restrict != nil {
		restrict(input.Properties)
	}
	description.InputSchema = input
	return func(server *mcp.Server, s session) {
		mcp.AddTool(server, &description, func(ctx context.Context, request *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
			out, err := call(session{s.api, request}, ctx, in)
			if picture, ok := any(out).(*mcp.CallToolResult); ok {
				return picture, *new(Out), nil
			}
			return nil, out, err
		})
	}
}

// wrongArgument finds the name of an argument, and what is wrong with it, in an error of the SDK:
// of a schema, or of decoding.
var wrongArgument = regexp.MustCompile(`validating /properties/(\w+)\S*: (?:validating \S+ )*(\w+)` +
	`|Go struct field \w+\.\w+\.(\w+) of type (\S+)` +
	`|(?:missing|additional) properties:? \["(\w+)`)

// explainArguments replaces the SDK's text about an argument, which names Go types and parts of
// schemas, with a sentence from which an agent can correct the call.
func explainArguments(result *mcp.CallToolResult) {
	for i, content := range result.Content {
		said, ok := content.(*mcp.TextContent)
		if !ok {
			continue
		}
		found := wrongArgument.FindStringSubmatch(said.Text)
		if found == nil {
			continue
		}
		name, problem := cmp.Or(found[1], found[3], found[5]), "has another type than the schema of the tool says"
		switch cmp.Or(found[2], found[4], found[5]) {
		case found[5]:
			problem = "is missing, or the tool has no such argument"
		case "minLength", "maxLength":
			problem = "is shorter or longer than the schema of the tool allows"
		case "minimum", "maximum":
			problem = "is lower or higher than the schema of the tool allows"
		case "enum":
			problem = "is none of the values that the schema of the tool lists"
		case "time.Time":
			problem = "must be a time such as 2026-11-28T15:04:05Z"
		}
		result.Content[i] = &mcp.TextContent{Text: "The argument " + name + " " + problem + "."}
	}
}

// reading are the annotations of tools that change nothing.
func reading() *mcp.ToolAnnotations {
	return &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: new(bool)}
}

// acting are the annotations of tools that act in a meeting.
func acting(destructive, idempotent bool) *mcp.ToolAnnotations {
	return &mcp.ToolAnnotations{DestructiveHint: &destructive, IdempotentHint: idempotent, OpenWorldHint: new(true)}
}

// allTools returns the tools of an agent.
func allTools() []tool {
	return []tool{
		// Tools that send bots and follow their jobs.
		define(mcp.Tool{
			Name: "send_bot", Title: "Send a bot into a meeting", Annotations: acting(false, true),
			Description: "Sends a bot into an online meeting, now or at a time. It appears there as a participant, and people may have to admit it. It records the meeting and leaves at its end. If a job for this meeting at this time exists, that one is returned instead.",
		}, func(a arguments) {
			a.text("meetingUrl", 1, 8192)
			a["meetingUrl"].Examples = []any{"https://meet.google.com/abc-defg-hij"}
			a["joinAt"].Format = "date-time"
			a.text("title", 0, 500)
			a.text("displayName", 0, 1000)
			a.text("externalId", 0, 2048)
			a.choose("recording", "video", "audio", "none")
			a.preset("captions", true)
			a.preset("chat", true)
			a.text("language", 0, 35)
		}, session.sendBot),
		define(mcp.Tool{
			Name: "list_jobs", Title: "List jobs", Annotations: reading(),
			Description: "Lists the visits of bots, newest first: planned, running and ended ones.",
		}, func(a arguments) {
			a["status"].Types, a["status"].Type = nil, "array"
			for _, status := range job.Statuses() {
				a["status"].Items.Enum = append(a["status"].Items.Enum, string(status))
			}
			a["joinFrom"].Format, a["joinTo"].Format = "date-time", "date-time"
			a.number("limit", 100, 20)
		}, session.listJobs),
		define(mcp.Tool{
			Name: "get_job", Title: "Get a job and its outcome", Annotations: reading(),
			Description: "Returns the state of a job and explains it in words: how it ended, where the cause of a failure is, and what to do next.",
		}, nil, session.getJob),
		define(mcp.Tool{
			Name: "wait_for", Title: "Wait for an event of a job", Annotations: reading(),
			Description: "Waits until a bot has joined, records, or its job has ended, or until the transcript can be read. Returns at once if that has happened, and at the latest after timeoutSeconds.",
		}, func(a arguments) {
			a.choose("until", "joined", "recording", "ended", "transcript")
			a.number("timeoutSeconds", 300, 50)
		}, session.waitFor),
		define(mcp.Tool{
			Name: "leave", Title: "Make a bot leave", Annotations: acting(true, true),
			Description: "Makes the bot leave its meeting. What it has recorded is kept, and the job ends as completed; without a recording so far, as failed with meeting_ended. A job whose bot has not been started is cancelled. This cannot be undone.",
		}, nil, session.leave),
		// Tools for a bot that is in a meeting.
		define(mcp.Tool{
			Name: "send_chat", Title: "Send a chat message", Annotations: acting(false, false),
			Description: "Sends a message to the chat of the meeting that the bot is in, visible to everybody there, and waits a few seconds for the outcome.",
		}, func(a arguments) {
			a.text("text", 1, 4000)
		}, session.sendChat),
		define(mcp.Tool{
			Name: "speak", Title: "Speak", Annotations: acting(false, false),
			Description: "Makes the bot say a text in the meeting, and waits a few seconds until it is heard. The bot must have been sent with speak.",
		}, func(a arguments) {
			a.text("text", 1, 4000)
		}, session.speak),
		define(mcp.Tool{
			Name: "stop_speaking", Title: "Stop speaking", Annotations: acting(false, true),
			Description: "Stops what the bot says, and what it is to say afterwards.",
		}, nil, session.stopSpeaking),
		define(mcp.Tool{
			Name: "listen", Title: "Listen to a meeting", Annotations: reading(),
			Description: "Returns who speaks in a meeting that goes on, and what was said and written in the last seconds: the live transcript, or the captions if there is none. Call it again to follow the conversation.",
		}, func(a arguments) {
			a.number("seconds", 3600, 30)
		}, session.listen),
		define(mcp.Tool{
			Name: "screenshot", Title: "See the meeting", Annotations: reading(),
			Description: "Returns a picture of the meeting page as the bot sees it: who is there, and what is shared. It works while the bot records.",
		}, nil, session.screenshot),
		define(mcp.Tool{
			Name: "get_participants", Title: "Get the participants", Annotations: reading(),
			Description: "Returns who is in the meeting now, or, after it, everybody who was there and when.",
		}, nil, session.getParticipants),
		// Tools that read what was said.
		define(mcp.Tool{
			Name: "get_transcript", Title: "Get what was said", Annotations: reading(),
			Description: "Returns what was said in a meeting, or in some minutes of it: its transcript, or the captions if there is none. It works while the meeting runs, with the live transcript or captions, which are a few seconds old.",
		}, func(a arguments) {
			for _, name := range []string{"fromMinute", "toMinute", "lastMinutes"} {
				a[name].Minimum, a[name].Maximum = new(0.0), new(100_000.0)
			}
		}, session.getTranscript),
		define(mcp.Tool{
			Name: "search_transcripts", Title: "Search what was said", Annotations: reading(),
			Description: "Searches the transcripts, captions and chat messages of all your complete recordings.",
		}, func(a arguments) {
			a.text("words", 1, 500)
			a.number("limit", 100, 20)
		}, session.searchTranscripts),
	}
}

// text limits the length of a text.
func (a arguments) text(name string, least, most int) {
	a[name].MinLength, a[name].MaxLength = &least, &most
}

// choose limits a text to some values.
func (a arguments) choose(name string, values ...any) { a[name].Enum = values }

// preset sets the default.
func (a arguments) preset(name string, value any) {
	a[name].Default, _ = json.Marshal(value) // a boolean or a number
}

// number limits a number, from 1, and sets its default.
func (a arguments) number(name string, most float64, value int) {
	a[name].Minimum, a[name].Maximum = new(1.0), &most
	a.preset(name, value)
}
