package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"standin/internal/bot/meeting"
	"standin/internal/bot/notetaker"
	"standin/internal/jobs/job"
	"standin/internal/operation/pagecheck"
)

// captureFlags name a capture and what it is read with.
type captureFlags struct {
	File string `arg:"" type:"path" help:"Capture: a ZIP file, or a directory with its files."`
	pageFlags
	JSON bool `help:"Print JSON."`
}

func (f captureFlags) settings() pagecheck.ReplaySettings {
	return pagecheck.ReplaySettings{File: f.File, Profiles: f.Profiles, Browser: f.Browser, NoSandbox: f.NoSandbox}
}

type doctorReplayCommand struct {
	captureFlags
	Expect string `placeholder:"SCREEN[+ELEMENT…]" help:"Screen that the replay must end with, such as lobby, and elements that must be visible, as in preJoin+joinButton."`
}

// Help describes the output and the exit code.
func (doctorReplayCommand) Help() string {
	return "Classifies the snapshots of a capture again, and reads its page again in a browser without network access. Prints each " +
		"step with its screen, the evidence with its weights, and the visible elements with the candidate that found them. " +
		"Exit code 0 if the replay ends with a recognized screen or, with --expect, with what is expected."
}

// Run replays the capture.
func (c *doctorReplayCommand) Run(ctx context.Context, to terminal) error {
	replay, err := pagecheck.ReplayCapture(ctx, c.settings())
	if err != nil {
		return fmt.Errorf("replay the capture: %w", err)
	}
	if err := writeReport(to.Out, replay, c.JSON); err != nil {
		return err
	}
	switch {
	case c.Expect != "":
		return replay.Expect(c.Expect)
	case replay.Screen == meeting.Unknown:
		return errors.New("the replay ends with a page that matches no screen of the profile")
	}
	return nil
}

type doctorLearnCommand struct {
	captureFlags
	Element []string `help:"Element of the profile to propose candidates for. Default: those that are missing."`
}

// Help describes the output.
func (doctorLearnCommand) Help() string {
	return "Compares the controls of a captured page with the elements that the profile does not find, and prints candidates as YAML " +
		"to paste into the profile: the most likely control first, and of each the most stable selector first."
}

// Run prints the proposals.
func (c *doctorLearnCommand) Run(ctx context.Context, to terminal) error {
	learned, err := pagecheck.Learn(ctx, pagecheck.LearnSettings{ReplaySettings: c.settings(), Elements: c.Element})
	if err != nil {
		return fmt.Errorf("learn from the capture: %w", err)
	}
	return writeReport(to.Out, learned, c.JSON)
}

type doctorProfileCommand struct {
	Name string `arg:"" enum:"meet,teams,zoom-web,words,notetakers" help:"What to print: meet, teams, zoom-web, words or notetakers."`
}

// Run prints the file.
func (c *doctorProfileCommand) Run(to terminal) error {
	switch c.Name {
	case "words":
		return to.printf("%s", meeting.Words())
	case "notetakers":
		return to.printf("%s", notetaker.Text())
	}
	profiles, err := meeting.Embedded()
	if err != nil {
		return err
	}
	return to.printf("%s", profiles[job.Platform(c.Name)].Text())
}

// writeReport writes a report as text or JSON.
func writeReport(w io.Writer, report interface {
	WriteText(w io.Writer) error
	WriteJSON(w io.Writer) error
}, asJSON bool) error {
	if asJSON {
		return report.WriteJSON(w)
	}
	return report.WriteText(w)
}
