// Command standin sends a bot into online meetings and returns a recording with
// a verifiable manifest. See README.md.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
	"k8s.io/apimachinery/pkg/api/resource"

	"standin/internal/base/confine"
)

// commandGroups are the groups of the commands in the help. The last one is for those of a command.
var commandGroups = []kong.Group{
	{Key: "start", Title: "Get started:"},
	{Key: "use", Title: "Use the API:"},
	{Key: "administer", Title: "Administer:"},
	{Key: "operate", Title: "Operate:"},
	{Key: "commands", Title: "Commands:"},
}

// commands declares the command line. Kong reads flags, environment variables
// and help texts from its tags.
type commands struct {
	Serve    serveCommand    `cmd:"" group:"start" help:"Run the service."`
	Practice practiceCommand `cmd:"" group:"start" help:"Run the service with a meeting on this machine in which people talk, and send a bot into it."`
	Setup    setupCommand    `cmd:"" group:"start" help:"Create the first user, and show how to set up a domain with TLS."`
	Login    loginCommand    `cmd:"" group:"start" help:"Sign in to a service."`
	Logout   logoutCommand   `cmd:"" group:"start" help:"Delete the stored key of the current service."`
	Status   statusCommand   `cmd:"" group:"start" help:"Show whether the service and your key work."`
	Context  contextCommand  `cmd:"" group:"start" help:"List the services that you signed in to, and choose one."`

	Jobs       jobsCommand       `cmd:"" group:"use" help:"Send bots into meetings, and watch and control them."`
	Calendars  calendarsCommand  `cmd:"" group:"use" help:"Connect calendars, and see and switch the bots of their meetings."`
	Recordings recordingsCommand `cmd:"" group:"use" help:"Download and verify recordings."`
	Webhooks   webhooksCommand   `cmd:"" group:"use" help:"Receive and verify webhooks, and redeliver failed ones."`
	Usage      usageCommand      `cmd:"" group:"use" help:"Show recorded hours, bot minutes, storage and success rate by day."`
	API        apiCommand        `cmd:"" name:"api" group:"use" help:"Send a request to the API."`
	Mcp        mcpCommand        `cmd:"" group:"use" help:"Give agents the API as tools (Model Context Protocol)."`

	Keys     keysCommand      `cmd:"" group:"administer" help:"Create, list and revoke API keys."`
	Teams    consumersCommand `cmd:"" group:"administer" help:"Create, list, change and delete teams, which own keys, jobs and recordings."`
	Accounts accountsCommand  `cmd:"" group:"administer" help:"Add, list, change and remove the accounts with which bots sign in to meeting platforms."`
	Users    usersCommand     `cmd:"" group:"administer" help:"Invite, list and remove dashboard users, and recover their accounts."`

	Doctor  doctorCommand  `cmd:"" group:"operate" help:"Check that this machine has what Standin needs, or inspect a meeting page."`
	Backup  backupCommand  `cmd:"" group:"operate" help:"Copy the database to a folder while the service runs, and check the recordings."`
	Restore restoreCommand `cmd:"" group:"operate" help:"Load a backup into a database."`
	Mail    mailCommand    `cmd:"" group:"operate" help:"Schedule meetings from calendar invitations in mail."`
	Canary  canaryCommand  `cmd:"" group:"operate" help:"Visit a meeting at intervals and report when its pages no longer match the profile."`
	Node    nodeCommand    `cmd:"" group:"operate" help:"Admit bots to a node of Kubernetes once the service and the platforms answer from it."`
	Bot     botCommand     `cmd:"" group:"operate" help:"Run one bot, with the manual launcher. The service starts other bots itself."`

	Completions completionsCommand `cmd:"" group:"operate" help:"Print a shell completion script."`
	Manual      manualCommand      `cmd:"" group:"operate" help:"Write the manual pages of the commands to a folder."`
	Version     versionCommand     `cmd:"" group:"operate" help:"Print the version."`

	VersionFlag kong.VersionFlag `name:"version" short:"v" help:"Print the version."`
}

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run executes a command line and returns its exit code: 0 on success, 2 for a
// usage error, otherwise one of the codes in exit.go.
func run(args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process

	to := terminal{Out: escapingWriter{stdout}, Err: escapingWriter{stderr}}
	// Settings, keys and tokens are secrets, also before bots of the same user.
	if err := confine.ProtectMemory(); err != nil {
		fmt.Fprintln(to.Err, "standin:", err)
	}
	if len(args) == 0 || args[0] == "help" {
		args = append(slices.Clone(args[min(1, len(args)):]), "--help")
	}
	// First arguments that people try.
	if name := map[string]string{"consumers": "teams", "-version": "--version"}[args[0]]; name != "" {
		args = append([]string{name}, args[1:]...)
	}
	shown := false // by a help text or by completions
	parser, err := newParser(grammar(args[0]), kong.Writers(stdout, stderr), kong.Exit(func(int) { shown = true }))
	if err != nil {
		fmt.Fprintln(to.Err, "standin:", err)
		return exitUsage
	}
	if printCompletions(parser, stdout) {
		return 0
	}
	command, err := parser.Parse(args)
	if shown {
		return 0
	}
	if err != nil {
		printUsageError(to.Err, err)
		return exitUsage
	}
	command.BindTo(ctx, (*context.Context)(nil))
	err = command.Run(to)
	switch {
	case err == nil:
		return 0
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		return exitFailed
	}
	fmt.Fprintln(to.Err, "standin:", err)
	code, advice := explain(err, command.Command())
	if advice != "" {
		fmt.Fprintln(to.Err, advice)
	}
	return code
}

// grammar returns the part of commands that a command needs, because Kong's model of all takes
// longer than most commands. It returns all for serve and manual, which list what there is in
// others, and if there is no such command.
func grammar(name string) any {
	all := reflect.TypeFor[commands]()
	version, _ := all.FieldByName("VersionFlag")
	for field := range all.Fields() {
		if _, isCommand := field.Tag.Lookup("cmd"); isCommand && strings.ToLower(field.Name) == name && name != "serve" && name != "manual" {
			return reflect.New(reflect.StructOf([]reflect.StructField{field, version})).Interface()
		}
	}
	return new(commands)
}

// newParser returns the parser of a command line. It removes the empty variables of
// settings from the process's environment.
func newParser(grammar any, options ...kong.Option) (*kong.Kong, error) {
	parser, err := kong.New(grammar, append(options, kong.Name("standin"), kong.Resolvers(kong.ResolverFunc(resolveFile)), kong.TypeMapper(reflect.TypeFor[[]string](),
		kong.MapperFunc(decodeList)),
		kong.TypeMapper(reflect.TypeFor[resource.Quantity](), kong.MapperFunc(decodeQuantity)),
		kong.TypeMapper(reflect.TypeFor[time.Time](), kong.MapperFunc(decodeTime)),
		kong.TypeMapper(reflect.TypeFor[*time.Time](), kong.MapperFunc(decodeTime)), kong.NamedMapper("onoff", onOffMapper{}),
		kong.Vars{"version": readBuild().String()}, kong.ExplicitGroups(commandGroups), kong.Help(printHelp),
		kong.ConfigureHelp(kong.HelpOptions{NoExpandSubcommands: true, Compact: true, FlagsLast: true}),
		kong.Description("Standin sends a bot into online meetings (Google Meet, Microsoft Teams, Zoom) and returns a recording with a verifiable manifest."))...)
	if err != nil {
		return nil, err
	}
	return parser, kong.Visit(parser.Model, prepare)
}

// prepare adds the details of a command. Of a flag or an argument, it removes the empty variables
// from the environment, because an empty setting is an unset one: ${X:-} of Compose sets X to an
// empty text, which Kong would take for the value.
func prepare(node kong.Visitable, next kong.Next) error {
	switch node := node.(type) {
	case *kong.Command:
		node.Detail = cmp.Or(strings.Join(details[node.Path()], " "), node.Detail)
	case *kong.Value: // of a flag too
		for _, name := range node.Tag.Envs {
			if text, set := os.LookupEnv(name); set && text == "" {
				if err := os.Unsetenv(name); err != nil {
					return err
				}
			}
		}
	}
	return next(nil)
}

// decodeList decodes the values of a flag without the spaces around them.
func decodeList(ctx *kong.DecodeContext, target reflect.Value) error {
	var text string
	if err := ctx.Scan.PopValueInto("list", &text); err != nil {
		return err
	}
	for _, value := range kong.SplitEscaped(text, ctx.Value.Tag.Sep) {
		if value = strings.TrimSpace(value); value != "" {
			target.Set(reflect.Append(target, reflect.ValueOf(value)))
		}
	}
	return nil
}

// onOffMapper decodes a flag, of the kind *bool or string, that can be given alone, as --no-flag, and
// with the value on or off, as in the environment.
type onOffMapper struct{}

// IsBool implements kong.BoolMapper.
func (onOffMapper) IsBool() bool { return true }

// Decode implements kong.Mapper.
func (onOffMapper) Decode(ctx *kong.DecodeContext, target reflect.Value) error {
	on := true
	switch next := ctx.Scan.Peek(); next.String() {
	case "off", "false":
		on = false
		fallthrough
	case "on", "true":
		ctx.Scan.Pop()
	default:
		if next.Type == kong.FlagValueToken {
			return fmt.Errorf("must be on or off, not %q", next)
		}
	}
	if target.Kind() == reflect.String {
		target.SetString(onOff(on))
	} else {
		target.Elem().SetBool(on)
	}
	return nil
}

// decodeQuantity decodes the value of a flag such as 500m or 3Gi. It refuses a unit without a
// number, which resource.ParseQuantity reads as 0.
func decodeQuantity(ctx *kong.DecodeContext, target reflect.Value) error {
	var text string
	if err := ctx.Scan.PopValueInto("quantity", &text); err != nil {
		return err
	}
	quantity, err := resource.ParseQuantity(text)
	if err != nil || !strings.ContainsAny(text, "0123456789") {
		return fmt.Errorf("%q is not a quantity such as 500m or 3Gi", text)
	}
	target.Set(reflect.ValueOf(quantity))
	return nil
}
