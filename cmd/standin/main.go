// Command standin sends a stand-in into online meetings and returns a
// recording that can be trusted. See README.md.
package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/alecthomas/kong"
)

// commands is the whole command line; kong reads flags, environment and help
// from it.
type commands struct {
	Serve       serveCommand       `cmd:"" help:"Run the service: API, dispatcher and webhook sender in one process."`
	Bot         botCommand         `cmd:"" help:"Run one bot. The service starts it; it can be run by hand, with the manual launcher."`
	Demo        demoCommand        `cmd:"" help:"Run the service with a local replica meeting and send one bot into it."`
	Doctor      doctorCommand      `cmd:"" help:"Check what Standin needs on this machine, or look at a meeting page with a profile."`
	Keys        keysCommand        `cmd:"" help:"Create, list and revoke API keys."`
	Consumers   consumersCommand   `cmd:"" help:"List and show consumers, and set how long their recordings are kept."`
	Jobs        jobsCommand        `cmd:"" help:"Send bots and follow them: a client of the public API."`
	Webhooks    webhooksCommand    `cmd:"" help:"Receive and verify webhooks, and see to those that failed."`
	Login       loginCommand       `cmd:"" help:"Sign in to a service, for the commands that call it."`
	Logout      logoutCommand      `cmd:"" help:"Forget the key of the sign-in."`
	Recordings  recordingsCommand  `cmd:"" help:"Download and verify recordings, and clear up their storage."`
	Completions completionsCommand `cmd:"" help:"Print a script that completes commands and flags in a shell."`
	Version     versionCommand     `cmd:"" help:"Print the version."`
}

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// terminal is where a command writes: results to out, everything else to err.
type terminal struct {
	out, err io.Writer
}

// run runs a command line and returns its exit code: 0, 2 for a command that
// could not be understood, and otherwise what exit.go says.
func run(args []string, out, err io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	go func() { // a second signal ends at once: the default action
		<-ctx.Done()
		stop()
	}()

	var line commands
	exited := -1
	parser, parseErr := kong.New(&line,
		kong.Name("standin"),
		kong.Description("Standin sends a stand-in into online meetings (Google Meet, Microsoft Teams, Zoom) and returns a recording that can be trusted."),
		kong.UsageOnError(),
		kong.Writers(out, err),
		kong.Exit(func(code int) { exited = code }),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(terminal{out: out, err: err}),
	)
	if parseErr != nil {
		fmt.Fprintln(err, "standin:", parseErr)
		return 2
	}
	command, parseErr := parser.Parse(args)
	if exited >= 0 { // help was asked for
		return exited
	}
	if parseErr != nil {
		fmt.Fprintln(err, "standin:", parseErr)
		fmt.Fprintln(err, "Run standin --help for the commands, standin COMMAND --help for flags and environment.")
		return 2
	}
	if runErr := command.Run(); runErr != nil {
		return fail(ctx, runErr, err)
	}
	return 0
}

// logFlags say how to log.
type logFlags struct {
	LogLevel  slog.Level `env:"STANDIN_LOG_LEVEL" default:"info" help:"Least level to log: debug, info, warn or error."`
	LogFormat string     `env:"STANDIN_LOG_FORMAT" default:"text" enum:"text,json" help:"Form of the log on standard error: text or json."`
}

func (f logFlags) logger(w io.Writer) *slog.Logger {
	options := &slog.HandlerOptions{Level: f.LogLevel}
	if f.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}

type versionCommand struct {
	JSON bool `name:"json" help:"Print JSON, for programs."`
}

// Run prints the version.
func (c versionCommand) Run(to terminal) error {
	if c.JSON {
		return printJSON(to.out, map[string]string{"version": version()})
	}
	_, err := fmt.Fprintln(to.out, "standin", version())
	return err
}

// version is the module's version, and the commit where it is known.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" && info.Main.Version == "(devel)" {
			return setting.Value[:min(12, len(setting.Value))]
		}
	}
	return info.Main.Version
}
