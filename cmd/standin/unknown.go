package main

import (
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
	"github.com/alecthomas/kong"
)

// warnUnknownSettings logs a warning for each variable of the environment that has the
// prefix of settings and that no command reads, with the setting that was probably
// meant. The values may be secrets.
func warnUnknownSettings(model *kong.Application, log *slog.Logger) {
	known := map[string]bool{envAPIKey: true, envIMAPPassword: true, envOAuthSecret: true, envReplyPassword: true}
	for _, command := range model.Leaves(false) {
		for _, group := range command.AllFlags(false) {
			for _, flag := range group {
				for _, name := range flag.Tag.Envs {
					known[name] = true
				}
			}
		}
	}
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		if known[strings.TrimSuffix(name, "_FILE")] || !strings.HasPrefix(name, "STANDIN_") || strings.HasPrefix(name, "STANDIN_TEST_") {
			continue
		}
		if meant := closest(name, slices.Sorted(maps.Keys(known)), 3); meant != "" {
			log.Warn("unknown setting", "name", name, "did_you_mean", meant)
		} else {
			log.Warn("unknown setting; standin serve --help-all lists the settings", "name", name)
		}
	}
}

// closest returns the known name that differs least from a name, or one that it begins, or an
// empty text if all others differ in more than most letters.
func closest(name string, known []string, most int) string {
	best, least := "", most+1
	for _, candidate := range known {
		distance := levenshtein.ComputeDistance(name, candidate)
		if strings.HasPrefix(candidate, name) {
			distance = min(distance, most)
		}
		if distance < least {
			best, least = candidate, distance
		}
	}
	return best
}
