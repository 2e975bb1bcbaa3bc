// Command standin-demo runs the service with a local meeting and sends one bot into it.
// It is a program of its own, because nothing else needs the WebRTC stack of the meeting,
// and the demo needs no clients of container engines and object stores.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"

	"standin/internal/bot/session"
	"standin/internal/launch"
	"standin/internal/launch/process"
	"standin/internal/operation/demo"
)

// commands are the demo and the bot that its service starts.
type commands struct {
	Bot botCommand `cmd:"" hidden:""`
}

type botCommand struct {
	Config string `required:"" type:"existingfile"`
}

// Run joins the meeting and uploads the recording.
func (c *botCommand) Run(ctx context.Context) error {
	config, err := launch.ReadBotConfig(c.Config)
	if err != nil {
		return err
	}
	lock, err := process.LockDir(config.Dir)
	if err != nil {
		return err
	}
	defer lock.Close()
	log := config.Logger(os.Stderr).With("job", config.JobID, "attempt", config.Attempt)
	return session.Run(ctx, session.Settings{BotConfig: config, Version: "demo", Log: log})
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process
	command := kong.Parse(new(commands), demo.Command(), kong.Name("standin-demo"), kong.BindTo(ctx, (*context.Context)(nil)))
	command.FatalIfErrorf(command.Run())
}
