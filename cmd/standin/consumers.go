package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"standin/internal/account"
	"standin/internal/jobs/job"
	"standin/internal/jobs/jobfiles"
	"standin/internal/jobs/webhook"
	"standin/internal/recording/retention"
	"standin/internal/store"
)

type consumersCommand struct {
	Create consumersCreateCommand `cmd:"" help:"Create a team without a key."`

	List  consumersListCommand  `cmd:"" help:"List teams."`
	Show  consumersShowCommand  `cmd:"" help:"Show a team."`
	Usage consumersUsageCommand `cmd:"" help:"Show what each team has used."`
	Set   consumersSetCommand   `cmd:"" help:"Change the settings of a team. A running service applies them within 15 minutes."`

	Delete consumersDeleteCommand `cmd:"" help:"Delete a team and all its data: recordings, jobs, keys, users and payments. This cannot be undone."`

	RotateSecret consumersRotateSecretCommand `cmd:"" help:"Create a new webhook secret for a team. Prints only the secret; the old one also signs for 24 hours."`
	SetVersion   consumersSetVersionCommand   `cmd:"" name:"set-webhook-version" help:"Set the payload version of a team's webhooks."`
}

type consumersListCommand struct {
	dataFlags
	outputFlags
}

// Run prints the consumers.
func (c *consumersListCommand) Run(ctx context.Context, to terminal, s *store.Store) error {
	consumers, err := s.Consumers(ctx)
	shown := rows(consumers, showConsumer)
	return printTable(c.outputFlags, to, to.header("ID|NAME|E-MAIL|CREATED"), shown, err, func(team shownConsumer) []string {
		return []string{team.ID, team.Name, team.Email, to.time(team.CreatedAt)}
	})
}

type consumersCreateCommand struct {
	dataFlags
	outputFlags
	Name          string `arg:"" help:"Name of the new team."`
	Email         string `help:"Email address of the team."`
	WebhookSecret string `env:"STANDIN_WEBHOOK_SECRET" help:"Webhook secret. Default: a random one. Prefer the environment variable."`
}

// Run creates the consumer.
func (c *consumersCreateCommand) Run(ctx context.Context, to terminal, s *store.Store) error {
	wanted := account.NewConsumer(c.Name, c.Email, c.WebhookSecret, time.Now())
	found, err := s.EnsureConsumer(ctx, wanted)
	if err != nil {
		return fmt.Errorf("team %q: %w", c.Name, err)
	}
	if found.ID != wanted.ID {
		return fmt.Errorf("team %q exists already", c.Name)
	}
	return c.printLine(to, showConsumer(found), nil, found.ID)
}

type consumersShowCommand struct {
	teamFlags
	outputFlags
	Secret bool `help:"Print the webhook secret too."`
}

// Run prints the consumer.
func (c *consumersShowCommand) Run(ctx context.Context, to terminal, s *store.Store, team account.Consumer) error {
	shown := showConsumer(team)
	if c.Secret {
		shown.WebhookSecret = team.WebhookSecret
	}
	mail, err := s.ConsumerMail(ctx, team.ID)
	shown.Mail = mail
	return c.print(to, shown, err, func() error {
		return to.properties([][2]string{
			{"id", team.ID.String()},
			{"name", team.Name},
			{"e-mail", team.Email},
			{"mail", strings.Join(mail, ", ")},
			{"webhook endpoint", team.WebhookURL},
			{"webhook version", strconv.Itoa(team.WebhookVersion)},
			{"webhook secret", shown.WebhookSecret},
			{"transcript event", onOff(team.TranscriptEvent)},
			{"command event", onOff(team.CommandEvent)},
			{"recording mode", orDefault(team.Recording.Mode)},
			{"layout", orDefault(team.Recording.Layout)},
			{"resolution", orDefault(team.Recording.Resolution)},
			{"output", outputText(team.Output)},
			{"sign-in", orDefault(team.SignIn)},
			{"recordings kept for", retentionText(team.Retention)},
			{"jobs kept for", retentionText(team.JobRetention)},
			{"created", to.time(team.CreatedAt)},
		}...)
	})
}

// retentionText describes a consumer's own retention period.
func retentionText(own *time.Duration) string {
	if own == nil {
		return "service " + serviceDefault
	}
	return retention.Period(*own).String()
}

type consumersSetCommand struct {
	dataFlags
	Name            string `arg:"" predictor:"team" help:"Name of the team."`
	Retention       string `placeholder:"30d" help:"How long the team's recordings are kept after the meeting: a duration such as 30d or 720h, forever, or default for the service's setting."`
	TranscriptEvent *bool  `type:"onoff" negatable:"" help:"Send the webhook job.transcript_ready when a transcript was attached. Off for new teams."`
	CommandEvent    *bool  `type:"onoff" negatable:"" help:"Send the webhook bot.command_outcome after each command. Off for new teams."`
	RecordingMode   string `placeholder:"audio" enum:"video,audio,none,default," default:"" help:"Default of the team's jobs for what is recorded: video, audio, none, or default for the service's setting."`
	Layout          string `placeholder:"gallery" enum:"speaker,gallery,content,page,default," default:"" help:"Default of the team's jobs for what the video shows, in the same form: speaker, gallery, content, page or default."`
	Resolution      string `placeholder:"1080p" enum:"720p,1080p,default," default:"" help:"Default of the team's jobs for the size of the video, in the same form: 720p, 1080p or default."`
	SignIn          string `placeholder:"always" enum:"never,ifRequired,always,default," default:"" help:"How the team's jobs sign in; default: ifRequired."`
	Mail            string `placeholder:"example.com,…" help:"Addresses and domains whose invitations are for the team. none removes them."`
	JobRetention    string `placeholder:"90d" help:"How long the team's jobs are kept after they end, in the same form. A job is kept at least as long as its recording."`
	botOutputFlags  `embed:"" group:"Default of the team's jobs for what bots play and show:"`
	NoOutput        bool `help:"Remove the team's default for what bots play and show."`
}

// Run changes the consumer.
func (c *consumersSetCommand) Run(ctx context.Context, to terminal) error {
	if *c == (consumersSetCommand{dataFlags: c.dataFlags, Name: c.Name}) {
		return errors.New("give at least one of the settings that standin teams set --help lists")
	}
	s, err := c.ProvideStore(ctx)
	if err != nil {
		return err
	}
	team, err := teamByName(ctx, s, c.Name)
	if err != nil {
		return err
	}
	var changes strings.Builder
	for _, setting := range []struct {
		value, subject string
		own            **time.Duration
	}{
		{c.Retention, "recordings", &team.Retention}, {c.JobRetention, "jobs", &team.JobRetention},
	} {
		if setting.value == "" {
			continue
		}
		*setting.own = nil
		if setting.value != serviceDefault {
			period, err := retention.ParsePeriod(setting.value)
			if err != nil {
				return err
			}
			*setting.own = (*time.Duration)(&period)
		}
		fmt.Fprintf(&changes, "retention of %s of %s: %s\n", setting.subject, c.Name, retentionText(*setting.own))
	}
	if c.RecordingMode != "" || c.Layout != "" || c.Resolution != "" {
		own := &team.Recording
		setDefault(&own.Mode, c.RecordingMode)
		setDefault(&own.Layout, c.Layout)
		setDefault(&own.Resolution, c.Resolution)
		fmt.Fprintf(&changes, "recording of %s: mode %s, layout %s, resolution %s\n", c.Name, orDefault(own.Mode), orDefault(own.Layout),
			orDefault(own.Resolution))
	}
	if given := c.output(); given != nil || c.NoOutput {
		if given != nil && c.NoOutput {
			return errors.New("--no-output removes the options that the other flags set: give one of them")
		}
		team.Output = nil
		encoded, err := json.Marshal(given) // both types have the form of the API
		if err == nil {
			err = json.Unmarshal(encoded, &team.Output)
		}
		if err != nil {
			return fmt.Errorf("convert the options of output: %w", err)
		}
		if team.Output != nil {
			if path, problem := team.Output.Check(); path != nil {
				return fmt.Errorf("output %v: %s", path, problem)
			}
		}
		fmt.Fprintf(&changes, "output of %s: %s\n", c.Name, outputText(team.Output))
	}
	if c.SignIn != "" {
		setDefault(&team.SignIn, c.SignIn)
		fmt.Fprintf(&changes, "sign-in of %s: %s\n", c.Name, cmp.Or(c.SignIn, serviceDefault))
	}
	addresses, err := parseTeamMail(c.Mail)
	if err != nil {
		return err
	}
	if c.Mail != "" {
		if err := s.SetConsumerMail(ctx, team.ID, addresses); err != nil {
			return fmt.Errorf("team %q: %w", c.Name, err)
		}
		fmt.Fprintf(&changes, "mail of %s: %s\n", c.Name, cmp.Or(strings.Join(addresses, ", "), "none"))
	}
	for _, event := range []struct {
		value *bool
		name  string
		own   *bool
	}{
		{c.TranscriptEvent, webhook.JobTranscriptReady, &team.TranscriptEvent}, {c.CommandEvent, webhook.BotCommandOutcome, &team.CommandEvent},
	} {
		if event.value != nil {
			*event.own = *event.value
			fmt.Fprintf(&changes, "webhook %s of %s: %s\n", event.name, c.Name, onOff(*event.value))
		}
	}
	if err := s.ChangeConsumer(ctx, team.ID, func(stored *account.Consumer) { *stored = team }); err != nil {
		return fmt.Errorf("team %q: %w", c.Name, err)
	}
	return to.printf("%s", changes.String())
}

// parseTeamMail returns mail addresses, and domains with an @ before them.
func parseTeamMail(text string) (found []string, err error) {
	for entry := range strings.SplitSeq(strings.ToLower(text), ",") {
		entry = strings.TrimSpace(entry)
		local, domain, hasAt := strings.Cut(entry, "@")
		if !hasAt {
			local, domain = "", entry
		}
		switch {
		case entry == "" || entry == "none":
			continue
		case !strings.Contains(domain, ".") || len(entry) > 254 || strings.ContainsAny(entry, " <>\"/\\") || strings.Contains(domain, "@"):
			return nil, fmt.Errorf("%q is not a mail address or a domain, such as ada@example.com or example.com", entry)
		}
		found = append(found, local+"@"+domain)
	}
	return found, nil
}

// outputText describes a team's default of output.
func outputText(own *job.OutputOptions) string {
	if own == nil {
		return "none"
	}
	encoded, _ := json.Marshal(own) // texts and flags
	return string(encoded)
}

// serviceDefault is the value of a setting that removes the consumer's own.
const serviceDefault = "default"

// setDefault changes the consumer's own setting if a value is given.
func setDefault[T ~string](own *T, value string) {
	if value != "" {
		*own = T(strings.TrimPrefix(value, serviceDefault))
	}
}

// orDefault describes the consumer's own setting.
func orDefault[T ~string](own T) string { return cmp.Or(string(own), serviceDefault) }

func onOff(enabled bool) string {
	if enabled {
		return "on"
	}
	return "off"
}

type consumersDeleteCommand struct {
	storageFlags
	Name string `arg:"" predictor:"team" help:"Name of the team."`
	Yes  bool   `required:"" help:"Confirm the deletion."`
}

// Run deletes the consumer.
func (c *consumersDeleteCommand) Run(ctx context.Context, to terminal) error {
	return c.withRecordings(ctx, func(s *store.Store, files jobfiles.Files) error {
		consumer, err := teamByName(ctx, s, c.Name)
		if err != nil {
			return err
		}
		cleaner := retention.New(retention.Settings{Store: s, Files: files, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
		jobs, err := cleaner.DeleteConsumer(ctx, consumer.ID)
		if err != nil {
			return fmt.Errorf("delete team %q: %w", c.Name, err)
		}
		return to.printf("deleted team %s and %d jobs\n", c.Name, jobs)
	})
}
