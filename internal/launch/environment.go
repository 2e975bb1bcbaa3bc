package launch

import (
	"slices"
	"strings"
)

// allowedVariables lists the environment variables that a bot inherits from the
// service: what a browser and ffmpeg need to run. All others stay with the
// service, because they may hold its secrets (AWS_SECRET_ACCESS_KEY, PGPASSWORD).
func allowedVariables() []string {
	return []string{
		"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TZ", "LANG", "LANGUAGE",
		"XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_DATA_DIRS",
		"FONTCONFIG_FILE", "FONTCONFIG_PATH", "SSL_CERT_FILE", "SSL_CERT_DIR", "LD_LIBRARY_PATH",
	}
}

// botEnvironment returns the variables of an environment that a bot inherits.
func botEnvironment(environment []string) []string {
	allowed := allowedVariables()
	return slices.DeleteFunc(slices.Clone(environment), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return !slices.Contains(allowed, name) && !strings.HasPrefix(name, "LC_")
	})
}
