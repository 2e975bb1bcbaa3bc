package chaos

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"standin/internal/bot/ingest"
	"standin/internal/bot/serviceclient"
	"standin/internal/bot/spool"
	"standin/internal/jobs/job"
	"standin/internal/launch"
	"standin/internal/launch/process"
)

// botLifetime is when a bot ends whose job is never answered for.
const botLifetime = 5 * time.Minute

// playedBot is the display name of bots that send nothing themselves.
const playedBot = "played"

// pidFile is the file in a bot's folder that names its process.
const pidFile = "pid"

// botData is the data of a live bot's event lifecycle.joined: the values that it was
// launched with.
type botData struct {
	Name   string
	JoinAt time.Time
}

// runBot runs a live bot: it waits for joinAt, reports that it joins, and that the
// meeting has ended, or that it was stopped.
func runBot(path string) error {
	config, err := launch.ReadBotConfig(path)
	if err != nil {
		return err
	}
	lock, err := process.LockDir(config.Dir)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := os.WriteFile(filepath.Join(config.Dir, pidFile), []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
		return err
	}
	running, stop := context.WithTimeout(context.Background(), botLifetime)
	defer stop()
	if config.DisplayName == playedBot {
		<-running.Done()
		return nil
	}
	files, err := spool.Open(filepath.Join(config.Dir, "spool"), spool.Settings{})
	if err != nil {
		return err
	}
	defer files.Close()
	client, err := serviceclient.New(serviceclient.Settings{
		ServiceURL: config.ServiceURL, JobID: config.JobID.String(), Attempt: config.Attempt, Token: config.Token, Spool: files,
	})
	if err != nil {
		return err
	}
	var background sync.WaitGroup
	background.Go(func() { _ = client.Run(running) }) // a refusal ends the bot through Done
	defer background.Wait()
	defer stop()

	terminated, cancel := signal.NotifyContext(running, syscall.SIGTERM)
	defer cancel()
	timer := time.NewTimer(time.Until(config.JoinAt))
	defer timer.Stop()
	exit := ingest.EventData{FailureCode: string(job.MeetingEnded), FailureDetail: "the bot of a test has ended"}
	for joined := false; !joined; {
		select {
		case <-timer.C:
			if err := client.Emit(job.BotJoined, botData{Name: config.DisplayName, JoinAt: config.JoinAt}); err != nil {
				return err
			}
			joined = true
		case command := <-client.Commands():
			client.Ack(command.ID, "")
			joined = command.Kind == ingest.LeaveCall
		case <-client.Done():
			return nil
		case <-terminated.Done():
			exit, joined = ingest.EventData{EndReason: ingest.EndStopped}, true
		}
	}
	if err := client.Emit(job.BotExited, exit); err != nil {
		return err
	}
	if err := client.Flush(running); err != nil {
		return fmt.Errorf("deliver the events: %w", err)
	}
	return nil
}
