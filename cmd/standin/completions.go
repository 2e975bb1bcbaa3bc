package main

import (
	"cmp"
	"context"
	"io"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/alecthomas/kong"
	kongcompletion "github.com/jotaen/kong-completion"
	"github.com/posener/complete"

	"standin/client"
	"standin/internal/account"
	"standin/internal/jobs/job"
	"standin/internal/launch/simulator"
	"standin/internal/server/service"
)

// completionScripts make a shell ask this program for completions. It answers when
// the variable COMP_LINE is set.
var completionScripts = map[string]string{
	"bash": "complete -o default -o bashdefault -C standin standin",
	// As a file in $fpath, it is the function _standin, and completes in its first call too.
	"zsh": `#compdef standin
autoload -U +X bashcompinit && bashcompinit
complete -o default -o bashdefault -C standin standin
if [[ $funcstack[1] == _standin ]]; then _bash_complete -o default -o bashdefault -C standin; fi`,
	"fish": `function __complete_standin
    set -lx COMP_LINE (commandline -cp)
    set -lx STANDIN_COMPLETION_DESCRIPTIONS 1
    test -z (commandline -ct)
    and set COMP_LINE "$COMP_LINE "
    standin
end
complete -c standin -a "(__complete_standin)"`,
}

type completionsCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Run prints the script.
func (c *completionsCommand) Run(to terminal) error {
	return to.println(completionScripts[c.Shell])
}

// predictors offer values of arguments and flags.
var predictors = map[string]complete.Predictor{
	"job":      complete.PredictFunc(predictJobs),
	"team":     complete.PredictFunc(predictTeams),
	"context":  complete.PredictFunc(predictContexts),
	"status":   complete.PredictSet(textsOf(job.Statuses())...),
	"platform": complete.PredictSet(textsOf(job.Platforms())...),
	"outcome":  complete.PredictSet(simulator.Outcomes()...),
}

func textsOf[T ~string](values []T) []string {
	return rows(values, func(value T) string { return string(value) })
}

const (
	// completionTime bounds how long a shell waits for completions.
	completionTime = 2 * time.Second
	// envDescriptions is set by shells that show a text beside each completion.
	envDescriptions = "STANDIN_COMPLETION_DESCRIPTIONS"
)

// predictJobs offers the newest jobs of the service that the user signed in to.
func predictJobs(complete.Args) []string {
	api, err := serviceFlags{URL: os.Getenv("STANDIN_URL")}.ProvideClient()
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), completionTime)
	defer cancel()
	listed, err := collect(api.WithRetries(0).Jobs(ctx, client.JobFilter{}), 20)
	if err != nil {
		return nil
	}
	return rows(listed, func(found client.Job) string {
		if os.Getenv(envDescriptions) == "" {
			return found.ID
		}
		return found.ID + "\t" + oneLine(found.Status+" "+found.MeetingURL)
	})
}

// predictContexts offers the services that the user signed in to.
func predictContexts(complete.Args) []string {
	stored, _ := configFlags{}.contexts()
	return slices.Sorted(maps.Keys(stored.All))
}

// predictTeams offers the teams in the database of this machine.
func predictTeams(complete.Args) []string {
	data := dataFlags{DataSettings: service.DataSettings{
		DataDir: cmp.Or(os.Getenv("STANDIN_DATA_DIR"), "./data"), DatabaseURL: os.Getenv("STANDIN_DATABASE_URL"),
	}}
	ctx, cancel := context.WithTimeout(context.Background(), completionTime)
	defer cancel()
	s, err := data.ProvideStore(ctx)
	if err != nil { // without a database nothing is offered
		return nil
	}
	defer func() { _ = data.AfterRun() }()
	teams, _ := s.Consumers(ctx)
	return rows(teams, func(team account.Consumer) string { return team.Name })
}

// printCompletions prints the completions of the command line that a shell asks for, and
// reports whether a shell asks.
func printCompletions(parser *kong.Kong, to io.Writer) bool {
	if os.Getenv("COMP_LINE") == "" {
		return false
	}
	command, err := kongcompletion.Command(parser, kongcompletion.WithPredictors(predictors))
	if err != nil {
		return false
	}
	completer := complete.New(parser.Model.Name, command)
	completer.Out = nonEmptyLines{to}
	return completer.Complete()
}

// nonEmptyLines drops empty lines. The empty value of a flag stands for its default, and is not offered.
type nonEmptyLines struct{ io.Writer }

func (w nonEmptyLines) Write(line []byte) (int, error) {
	if string(line) == "\n" {
		return len(line), nil
	}
	return w.Writer.Write(line)
}
