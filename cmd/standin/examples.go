package main

// exampleJob is the ID of a job in the examples.
const exampleJob = "0192f5c8-5c1e-7a30-9a4f-3f1d2b6c7e80"

// exampleEndpoint is the ID of a webhook endpoint in the examples.
const exampleEndpoint = "7d0f6b0e-3c55-5f7a-9d3e-0a1f5f0f7c11"

// examples are command lines in the help of each command.
var examples = map[string][]string{
	"serve": {"standin serve", "STANDIN_BASE_URL=https://standin.example.com standin serve --listen 127.0.0.1:8080"},
	"login": {
		"standin login --url https://standin.example.com", "standin keys create --team crew --test | standin login --with-key",
	},
	"logout":       {"standin logout"},
	"setup":        {"standin setup --email ada@example.com --team crew --domain standin.example.com"},
	"status":       {"standin status", "standin status --ready --url http://127.0.0.1:8080"},
	"context list": {"standin context list"},
	"context use":  {"standin context use standin.example.com"},
	"usage":        {"standin usage", "standin usage --from 2026-11-01 --to 2026-11-30 --csv > november.csv"},
	"api": {
		"standin api GET jobs -F limit=5", "standin api POST jobs -F externalId=standup -F meetingUrl=https://meet.google.com/abc-defg-hij",
	},
	"recordings list":   {"standin recordings list"},
	"recordings open":   {"standin recordings open " + exampleJob},
	"recordings delete": {"standin recordings delete " + exampleJob + " --yes"},

	"jobs create": {
		"standin jobs create https://meet.google.com/abc-defg-hij --watch",
		"standin jobs create https://meet.google.com/abc-defg-hij --join-at 'tomorrow 10:00' --captions on --chat on",
		"standin jobs create https://meet.google.com/abc-defg-hij --recording-mode audio --ask-permission on",
		"standin jobs create https://meet.google.com/abc-defg-hij --simulate lobby_timeout --watch",
	},
	"jobs rerun":      {"standin jobs rerun " + exampleJob + " --watch"},
	"jobs get":        {"standin jobs get " + exampleJob, "standin jobs get " + exampleJob + " --output yaml"},
	"jobs list":       {"standin jobs list", "standin jobs list --status failed --from 'yesterday 00:00' --json"},
	"jobs open":       {"standin jobs open " + exampleJob},
	"jobs watch":      {"standin jobs watch " + exampleJob},
	"jobs events":     {"standin jobs events " + exampleJob},
	"jobs deliveries": {"standin jobs deliveries " + exampleJob},
	"jobs patch": {
		"standin jobs patch " + exampleJob + " --join-at +15m", "standin jobs patch " + exampleJob + " --leave-alone-after 5m",
	},
	"jobs cancel": {"standin jobs cancel " + exampleJob},
	"jobs ask":    {"standin jobs ask " + exampleJob},
	"jobs pause":  {"standin jobs pause " + exampleJob},
	"jobs resume": {"standin jobs resume " + exampleJob},
	"jobs stop":   {"standin jobs stop " + exampleJob},
	"jobs leave":  {"standin jobs leave " + exampleJob},
	"jobs chat":   {"standin jobs chat " + exampleJob + " 'Recording starts in a minute.'"},
	"jobs play-audio": {
		"standin jobs play-audio " + exampleJob + " https://example.com/welcome.mp3",
		"standin jobs play-audio " + exampleJob + " welcome.mp3 --interrupt",
	},
	"jobs speak":        {"standin jobs speak " + exampleJob + " 'This meeting is recorded.' --language en-US"},
	"jobs stop-output":  {"standin jobs stop-output " + exampleJob},
	"jobs camera":       {"standin jobs camera " + exampleJob + " --image logo.png"},
	"jobs share-screen": {"standin jobs share-screen " + exampleJob + " --page https://example.com/agenda"},
	"jobs pin":          {"standin jobs pin " + exampleJob + " p-1"},

	"calendars connect":    {"standin calendars connect Ada --email ada@example.com --record external < address.txt"},
	"calendars list":       {"standin calendars list"},
	"calendars events":     {"standin calendars events " + exampleJob},
	"calendars sync":       {"standin calendars sync " + exampleJob},
	"calendars switch":     {"standin calendars switch " + exampleJob + " 0192f5c8-5c1e-7a30-9a4f-3f1d2b6c7e91 off"},
	"calendars disconnect": {"standin calendars disconnect " + exampleJob},

	"recordings download":   {"standin recordings download " + exampleJob, "standin recordings download " + exampleJob + " --dir weekly"},
	"recordings transcribe": {"standin recordings transcribe " + exampleJob},
	"recordings transcript": {
		"standin recordings transcript " + exampleJob, "standin recordings transcript " + exampleJob + " --format vtt > meeting.vtt",
	},
	"recordings verify": {"standin recordings verify", "standin recordings verify " + exampleJob},
	"recordings finish": {"standin recordings finish " + exampleJob},
	"recordings sweep":  {"standin recordings sweep", "standin recordings sweep --delete"},

	"webhooks verify": {"standin webhooks verify body.json --header-file headers.txt --secret-file secret"},
	"webhooks listen": {
		"standin webhooks listen --forward-to http://localhost:3000/hooks",
		"standin webhooks listen --secret-file secret --status 500 --count 1",
	},
	"webhooks endpoints list":   {"standin webhooks endpoints"},
	"webhooks endpoints add":    {"standin webhooks endpoints add https://example.com/hooks/calls --events job.finalized,participant.*"},
	"webhooks endpoints set":    {"standin webhooks endpoints set " + exampleEndpoint + " --events '*' --no-enabled"},
	"webhooks endpoints remove": {"standin webhooks endpoints remove " + exampleEndpoint},
	"webhooks endpoints test":   {"standin webhooks endpoints test " + exampleEndpoint + " --event job.finalized"},
	"webhooks endpoints retry":  {"standin webhooks endpoints retry " + exampleEndpoint},
	"webhooks deliveries":       {"standin webhooks deliveries --state failed --event job.finalized"},
	"webhooks show":             {"standin webhooks show dlv_0192f5c86911a7c1b0c86a7b8c9d0e1f --curl"},
	"webhooks events":           {"standin webhooks events", "standin webhooks events participant.joined"},
	"webhooks redeliver": {
		"standin webhooks redeliver --job " + exampleJob,
		"standin webhooks redeliver --endpoint " + exampleEndpoint + " --from 'today 08:00'",
	},
	"webhooks rotate-secret": {"standin webhooks rotate-secret > secret"},
	"mcp":                    {"standin mcp"},

	"keys create": {
		"standin keys create --team crew", "standin keys create --team crew --name dashboards --scope read --expires '2027-01-01 00:00'",
		"standin keys create --team crew --test | standin login --with-key",
	},
	"keys list":    {"standin keys list"},
	"keys revoke":  {"standin keys revoke " + exampleJob},
	"teams create": {"standin teams create crew"},
	"teams list":   {"standin teams list"},
	"teams usage":  {"standin teams usage", "standin teams usage --from 2026-11-01 --csv > november.csv"},
	"teams show":   {"standin teams show crew", "standin teams show crew --secret"},
	"teams set": {
		"standin teams set crew --retention 30d", "standin teams set crew --recording-mode audio --transcript-event on",
		"standin teams set crew --camera-name --say-on-join 'I record this meeting.'",
	},
	"teams delete":              {"standin teams delete crew --yes"},
	"teams rotate-secret":       {"standin teams rotate-secret crew > secret"},
	"teams set-webhook-version": {"standin teams set-webhook-version crew 2"},
	"users list":                {"standin users list"},
	"users invite": {
		"standin users invite ben@example.com --team crew", "standin users invite ada@example.com --team crew --operator",
	},
	"users reset-password": {"standin users reset-password ada@example.com"},
	"users set-role":       {"standin users set-role ben@example.com viewer"},
	"users promote":        {"standin users promote ada@example.com"},
	"users demote":         {"standin users demote ada@example.com"},
	"users remove":         {"standin users remove ben@example.com"},

	"doctor check":  {"standin doctor", "standin doctor --json"},
	"doctor replay": {"standin doctor replay capture.json"},
	"doctor learn":  {"standin doctor learn capture.json"},
	"canary":        {"STANDIN_CANARY_MEETING=https://meet.google.com/abc-defg-hij standin canary --every 15m"},
	"backup":        {"standin backup /var/backups/standin/monday", "standin backup /var/backups/standin/monday --recordings copy"},
	"restore":       {"standin restore /var/backups/standin/monday"},
	"mail run":      {"standin mail run --smtp-listen :25 --senders example.com --recipients notes@example.com"},
	"mail test":     {"standin mail test message.eml --senders example.com"},
	"mail list":     {"standin mail list"},
	"mail retry":    {"standin mail retry 7"},
	"mail login":    {"standin mail login --imap-url imaps://notes@example.com@outlook.office365.com/INBOX --imap-oauth microsoft"},
	"bot":           {"standin bot --config bot.json"},

	"completions": {"source <(standin completions bash)"},
	"manual":      {"standin manual ~/.local/share/man/man1"},
	"version":     {"standin version", "standin version --json"},
}
