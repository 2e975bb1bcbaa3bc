// Command standin sends a bot into online meetings and returns a recording with
// a verifiable manifest. See README.md.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"reflect"
	"slices"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
	kongcompletion "github.com/jotaen/kong-completion"
	"k8s.io/apimachinery/pkg/api/resource"

	"standin/internal/confine"
	"standin/internal/launch"
)

// commands declares the command line. Kong reads flags, environment variables
// and help texts from its tags.
type commands struct {
	Serve       serveCommand       `cmd:"" help:"Run the service: API, dispatcher and webhook sender in one process."`
	Bot         botCommand         `cmd:"" help:"Run one bot. The service starts bots; run this command yourself with the manual launcher."`
	Doctor      doctorCommand      `cmd:"" help:"Check that this machine has what Standin needs, or inspect a meeting page with a profile."`
	Canary      canaryCommand      `cmd:"" help:"Visit a meeting at intervals and report when its pages no longer match the profile."`
	Keys        keysCommand        `cmd:"" help:"Create, list and revoke API keys."`
	Consumers   consumersCommand   `cmd:"" help:"Create, list, change and delete consumers."`
	Users       usersCommand       `cmd:"" help:"Invite, list and remove dashboard users, and recover accounts on this machine."`
	Jobs        jobsCommand        `cmd:"" help:"Create, list, watch and control jobs through the public API."`
	Webhooks    webhooksCommand    `cmd:"" help:"Receive and verify webhooks, and redeliver failed ones."`
	Mcp         mcpCommand         `cmd:"" help:"Give agents the API as tools, over standard input and output (Model Context Protocol)."`
	Login       loginCommand       `cmd:"" help:"Sign in to a service. Commands that call the API use the stored key."`
	Logout      logoutCommand      `cmd:"" help:"Delete the stored key."`
	Mail        mailCommand        `cmd:"" help:"Schedule meetings from calendar invitations in mail."`
	Recordings  recordingsCommand  `cmd:"" help:"Download and verify recordings, and find unused files in storage."`
	Backup      backupCommand      `cmd:"" help:"Copy the database to a folder while the service runs, and check the recordings."`
	Restore     restoreCommand     `cmd:"" help:"Load a backup into a database."`
	Completions completionsCommand `cmd:"" help:"Print a shell completion script."`
	Version     versionCommand     `cmd:"" help:"Print the version."`

	VersionFlag kong.VersionFlag `name:"version" short:"V" help:"Print the version."`
}

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr, extraCommands()...))
}

// run executes a command line and returns its exit code: 0 on success, 2 for a
// usage error, otherwise one of the codes in exit.go.
func run(args []string, stdout, stderr io.Writer, extra ...kong.Option) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process

	to := terminal{Out: escapingWriter{stdout}, Err: escapingWriter{stderr}}
	// Settings, keys and tokens are secrets, also before bots of the same user.
	if err := confine.ProtectMemory(); err != nil {
		fmt.Fprintln(to.Err, "standin:", err)
	}
	shown := false // by a help text or by completions
	parser, err := newParser(new(commands), append(extra, kong.Writers(stdout, stderr), kong.Exit(func(int) { shown = true }))...)
	if err != nil {
		fmt.Fprintln(to.Err, "standin:", err)
		return exitUsage
	}
	if kongcompletion.Register(parser); shown {
		return 0
	}
	if len(args) > 0 && args[0] == "help" {
		args = append(slices.Clone(args[1:]), "--help")
	}
	command, err := parser.Parse(args)
	if shown {
		return 0
	}
	if err != nil {
		fmt.Fprintln(to.Err, "standin:", err)
		fmt.Fprintln(to.Err, "Run standin --help for the commands, standin COMMAND --help for flags and environment.")
		return exitUsage
	}
	command.BindTo(ctx, (*context.Context)(nil))
	if err := command.Run(to); err != nil {
		return fail(ctx, err, to.Err)
	}
	return 0
}

// newParser returns the parser of a command line. It removes the empty variables of
// settings from the process's environment.
func newParser(grammar any, options ...kong.Option) (*kong.Kong, error) {
	parser, err := kong.New(grammar, append(options, kong.Name("standin"), kong.TypeMapper(reflect.TypeFor[[]string](), kong.MapperFunc(decodeList)),
		kong.TypeMapper(reflect.TypeFor[resource.Quantity](), kong.MapperFunc(decodeQuantity)),
		kong.Vars{"version": readBuild().String()},
		kong.Description("Standin sends a bot into online meetings (Google Meet, Microsoft Teams, Zoom) and returns a recording with a verifiable manifest."))...)
	if err != nil {
		return nil, err
	}
	return parser, kong.Visit(parser.Model, unsetEmpty)
}

// unsetEmpty removes the empty variables of a flag or an argument from the environment,
// because an empty setting is an unset one: ${X:-} of Compose sets X to an empty text,
// which Kong would take for the value.
func unsetEmpty(node kong.Visitable, next kong.Next) error {
	value, ok := node.(*kong.Value) // of a flag too
	if !ok {
		return next(nil)
	}
	for _, name := range value.Tag.Envs {
		if text, set := os.LookupEnv(name); set && text == "" {
			if err := os.Unsetenv(name); err != nil {
				return err
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

// decodeQuantity decodes the value of a flag such as 500m or 3Gi.
func decodeQuantity(ctx *kong.DecodeContext, target reflect.Value) error {
	var text string
	if err := ctx.Scan.PopValueInto("quantity", &text); err != nil {
		return err
	}
	quantity, err := launch.ParseQuantity(text)
	if err == nil {
		target.Set(reflect.ValueOf(quantity))
	}
	return err
}
