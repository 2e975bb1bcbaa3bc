package cli

import (
	"bytes"
	"context"
	"errors"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// all has a field for every tag and type.
type all struct {
	sharedFlags
	Text     string       `env:"CLI_TEST_TEXT" default:"none" help:"A text."`
	Secret   string       `env:"CLI_TEST_SECRET" help:"A secret."`
	Number   int          `default:"7" help:"A number."`
	Large    int64        `help:"A large number." name:"big"`
	Ratio    float64      `help:"A ratio."`
	Wait     Duration     `default:"5s" help:"A duration."`
	At       time.Time    `placeholder:"TIME" help:"A time."`
	Address  netip.Addr   `help:"An address."`
	Link     *url.URL     `help:"A link."`
	Name     *string      `help:"A name."`
	Mode     string       `enum:"on,off," default:"" help:"A mode."`
	Must     string       `env:"CLI_TEST_MUST" required:"" help:"A required flag."`
	Hosts    []string     `env:"CLI_TEST_HOSTS" default:"a,b" help:"Hosts."`
	Header   []string     `short:"H" sep:"none" help:"Headers."`
	Networks []netip.Addr `help:"Networks."`
	Quiet    bool         `env:"CLI_TEST_QUIET" help:"A switch."`
	Color    bool         `default:"true" negatable:"" help:"Colors."`
	User     string       `and:"login" group:"Login:" help:"A user."`
	Password string       `and:"login" group:"Login:" help:"A password."`
	File     string       `type:"existingfile" placeholder:"FILE" help:"A file."`
	Path     string       `type:"existingpath" help:"A path."`
	Proxy    proxyFlags   `embed:"" prefix:"proxy-" group:"Proxy:"`
	From     string       `arg:"" enum:"here,there" help:"The start."`
	To       string       `arg:"" optional:"" default:"home" help:"The end."`
}

type Duration = time.Duration

type sharedFlags struct {
	Shared bool `help:"A flag of several commands."`
}

type proxyFlags struct {
	BaseURL string `help:"A URL."`
}

func (*all) Run(context.Context, Terminal) error { return nil }
func (*all) Help() string                        { return "First paragraph.\n\nSecond paragraph." }
func (a *all) Validate() error {
	if a.Number > 100 {
		return errors.New("--number is too large")
	}
	return nil
}

// group has commands.
type group struct {
	First  all      `cmd:"" help:"The first command."`
	Second standard `cmd:"" name:"other" default:"withargs" help:"The default."`
	Inner  inner    `cmd:"" help:"More commands."`
}

type standard struct {
	Force bool `help:"Without questions."`
}

func (*standard) Run(context.Context, Terminal) error { return nil }

type inner struct {
	Leaf standard `cmd:"" help:"A command of a group in a group."`
}

// parseAll parses the arguments of all.
func parseAll(t *testing.T, args ...string) (*all, error) {
	t.Helper()
	parsed := new(all)
	app, err := New("tool", "A tool.", parsed)
	if err != nil {
		t.Fatal(err)
	}
	_, err = app.Parse(args, Terminal{Out: t.Output(), Err: t.Output()})
	return parsed, err
}

// TestValues checks every type of a field, and defaults.
func TestValues(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for arguments, check := range map[string]func(*all) bool{
		"": func(a *all) bool {
			return a.Text == "none" && a.Number == 7 && a.Wait == 5*time.Second && a.Color && !a.Quiet && a.Name == nil && a.Link == nil && strings.Join(a.Hosts, " ") == "a b" && a.From == "here" && a.To == "home"
		},
		"--text=x --number 0x10":         func(a *all) bool { return a.Text == "x" && a.Number == 16 },
		"--big -5 --ratio 0.5":           func(a *all) bool { return a.Large == -5 && a.Ratio == 0.5 },
		"--wait 2m":                      func(a *all) bool { return a.Wait == 2*time.Minute },
		"--at 2026-11-20T14:00:00+01:00": func(a *all) bool { return a.At.Unix() == 1795179600 },
		"--address ::1":                  func(a *all) bool { return a.Address == netip.IPv6Loopback() },
		"--link https://h/p --name ada":  func(a *all) bool { return a.Link.Path == "/p" && *a.Name == "ada" },
		"--name=":                        func(a *all) bool { return a.Name != nil && *a.Name == "" },
		"--mode off":                     func(a *all) bool { return a.Mode == "off" },
		"--hosts x,y, --hosts z":         func(a *all) bool { return strings.Join(a.Hosts, " ") == "x y z" },
		"--hosts=":                       func(a *all) bool { return len(a.Hosts) == 0 },
		"-H a:1,2 --header b":            func(a *all) bool { return strings.Join(a.Header, " ") == "a:1,2 b" },
		"--networks ::1,127.0.0.1":       func(a *all) bool { return len(a.Networks) == 2 && a.Networks[1].Is4() },
		"--quiet --shared":               func(a *all) bool { return a.Quiet && a.Shared },
		"--quiet=Yes":                    func(a *all) bool { return a.Quiet },
		"--no-color":                     func(a *all) bool { return !a.Color },
		"--no-color --color":             func(a *all) bool { return a.Color },
		"--no-color=no":                  func(a *all) bool { return a.Color },
		"--user a --password b":          func(a *all) bool { return a.User == "a" && a.Password == "b" },
		"--file " + file:                 func(a *all) bool { return a.File == file },
		"--path " + filepath.Dir(file):   func(a *all) bool { return a.Path == filepath.Dir(file) },
		"--proxy-base-url http://p":      func(a *all) bool { return a.Proxy.BaseURL == "http://p" },
		"far away":                       nil,
		"-- --text":                      func(a *all) bool { return a.To == "--text" && a.Text == "none" },
	} {
		t.Run(arguments, func(t *testing.T) {
			t.Parallel()
			words := append([]string{"here", "--must", "m"}, strings.Fields(arguments)...)
			if parsed, err := parseAll(t, words...); check == nil != (err != nil) || err == nil && !check(parsed) {
				t.Errorf("%+v, %v", parsed, err)
			}
		})
	}
}

// TestEnvironment checks that flags have precedence over the environment, and the
// environment over defaults.
func TestEnvironment(t *testing.T) {
	for name, value := range map[string]string{"TEXT": "variable", "HOSTS": "c", "QUIET": "1", "MUST": "m", "SECRET": "s3cret"} {
		t.Setenv("CLI_TEST_"+name, value)
	}
	parsed, err := parseAll(t, "here")
	if err != nil || parsed.Text != "variable" || strings.Join(parsed.Hosts, " ") != "c" || !parsed.Quiet || parsed.Must != "m" {
		t.Errorf("%+v, %v", parsed, err)
	}
	parsed, err = parseAll(t, "here", "--text=flag", "--hosts=d", "--quiet=false")
	if err != nil || parsed.Text != "flag" || strings.Join(parsed.Hosts, " ") != "d" || parsed.Quiet {
		t.Errorf("%+v, %v", parsed, err)
	}
	if help := helpOf(t, "tool", new(all), "--help"); strings.Contains(help, "s3cret") || strings.Contains(help, "variable") {
		t.Errorf("the help has a value of the environment: %s", help)
	}
	t.Setenv("CLI_TEST_QUIET", "maybe")
	if _, err := parseAll(t, "here"); err == nil || err.Error() != "CLI_TEST_QUIET: must be true, 1, yes, false, 0 or no" {
		t.Errorf("error %v", err)
	}
}

// TestParseErrors checks the messages for wrong arguments.
func TestParseErrors(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "missing")
	for arguments, want := range map[string]string{
		"":                                "missing argument <from>",
		"here":                            "missing flag --must, or the environment variable CLI_TEST_MUST",
		"there home town":                 "unexpected argument town",
		"nowhere":                         "<from>: must be one of here, there",
		"--nope":                          "unknown flag: --nope",
		"-x":                              "unknown shorthand flag",
		"--text":                          "flag needs an argument: --text",
		"here --must m --number x":        `"--number" flag: expected an integer`,
		"here --must m --number 101":      "--number is too large",
		"here --must m --ratio x":         "expected a number",
		"here --must m --wait 5":          "expected a duration",
		"here --must m --at noon":         "parsing time",
		"here --must m --link %zz":        "expected a URL",
		"here --must m --mode perhaps":    `"--mode" flag: must be one of on, off`,
		"here --must m --networks ::1,":   "",
		"here --must m --networks a,b":    "unable to parse IP",
		"here --must m --quiet=perhaps":   "must be true",
		"here --must m --no-color=x":      "must be true",
		"here --must m --user a":          "--user and --password must be used together",
		"here --must m --file /":          "/ is a directory",
		"here --must m --path " + missing: "no such file",
	} {
		t.Run(arguments, func(t *testing.T) {
			t.Parallel()
			_, err := parseAll(t, strings.Fields(arguments)...)
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want %q", err, want)
			}
		})
	}
}

// TestGroups checks how commands are selected.
func TestGroups(t *testing.T) {
	t.Parallel()
	for arguments, want := range map[string]string{
		"first here --must m": "First",
		"":                    "Second",
		"--force":             "Second",
		"other --force":       "Second",
		"inner leaf":          "Leaf",
		"inner":               `missing command after "tool inner": leaf`,
		"inner lead":          `unknown command "lead" for "tool inner", did you mean leaf?`,
		"third":               `unknown command "third" for "tool"`,
		"extra":               "extra",
		"help third":          "unknown command third",
	} {
		t.Run(arguments, func(t *testing.T) {
			t.Parallel()
			commands, extra := new(group), new(standard)
			app, err := New("tool", "A tool.", commands, Subcommand{Name: "extra", Help: "Not a field.", Command: extra})
			if err != nil {
				t.Fatal(err)
			}
			got, err := app.Parse(strings.Fields(arguments), Terminal{Out: t.Output(), Err: t.Output()})
			selected := map[Runner]string{&commands.First: "First", &commands.Second: "Second", &commands.Inner.Leaf: "Leaf", extra: "extra"}[got]
			if err != nil {
				selected = err.Error()
			}
			if selected != want {
				t.Errorf("%q, want %q", selected, want)
			}
		})
	}
}

// helpOf returns the help text for arguments.
func helpOf(t *testing.T, name string, command any, arguments ...string) string {
	t.Helper()
	app, err := New(name, "A tool.", command)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if got, err := app.Parse(arguments, Terminal{Out: &out, Err: t.Output()}); got != nil || err != nil {
		t.Fatalf("%v, %v", got, err)
	}
	return out.String()
}

// TestHelp checks the help text of a command.
func TestHelp(t *testing.T) {
	t.Parallel()
	const want = `Usage: tool --must=STRING <from> [<to>] [flags]

A tool.

First paragraph.

Second paragraph.

Arguments:
  <from>    The start.
  [<to>]    The end.

Flags:
  -h, --help               Show this help.
      --shared             A flag of several commands.
      --text=none          A text ($CLI_TEST_TEXT).
      --secret=STRING      A secret ($CLI_TEST_SECRET).
      --number=7           A number.
      --big=INT64          A large number.
      --ratio=FLOAT64      A ratio.
      --wait=5s            A duration.
      --at=TIME            A time.
      --address=ADDR       An address.
      --link=URL           A link.
      --name=STRING        A name.
      --mode=on|off        A mode.
      --must=STRING        A required flag ($CLI_TEST_MUST).
      --hosts=a,b          Hosts ($CLI_TEST_HOSTS).
  -H, --header=STRING,…    Headers.
      --networks=ADDR,…    Networks.
      --quiet              A switch ($CLI_TEST_QUIET).
      --[no-]color         Colors.
      --file=FILE          A file.
      --path=STRING        A path.

Login:
  --user=STRING        A user.
  --password=STRING    A password.

Proxy:
  --proxy-base-url=STRING    A URL.
`
	if got := helpOf(t, "tool", new(all), "--help"); got != want {
		t.Errorf("help:\n%s", got)
	}
}

// TestGroupHelp checks the help texts of groups, which list the commands below them.
func TestGroupHelp(t *testing.T) {
	t.Parallel()
	const want = `Usage: tool inner COMMAND

More commands.

Flags:
  -h, --help    Show this help.

Commands:
  inner leaf [flags]
    A command of a group in a group.

Run "tool COMMAND --help" for the flags of a command.
`
	for _, arguments := range [][]string{{"inner", "--help"}, {"help", "inner"}} {
		if got := helpOf(t, "tool", new(group), arguments...); got != want {
			t.Errorf("%q:\n%s", arguments, got)
		}
	}
	if got := helpOf(t, "tool", new(group), "-h"); !strings.Contains(got, "\n  first --must=STRING <from> [<to>] [flags]\n    The first command.\n\n  other [flags]\n") {
		t.Errorf("help:\n%s", got)
	}
}

// TestInvalidFields checks that New rejects tags and types that it does not support.
func TestInvalidFields(t *testing.T) {
	t.Parallel()
	for tag, one := range map[reflect.StructTag]struct {
		value any
		want  string
	}{
		`xor:"a"`:                {"", `tag xor:"a" is not supported`},
		`help`:                   {"", "are malformed"},
		`help:"A channel."`:      {make(chan int), "type is not supported: chan int"},
		`help:"Structs."`:        {[]struct{}{}, "type is not supported: struct"},
		`default:"a"`:            {0, "default: expected an integer"},
		`default:"a" enum:"b,c"`: {"", "default: must be one of b, c"},
		`type:"existingdir"`:     {"", "type existingdir"},
		`type:"existingfile"`:    {0, "type existingfile"},
		`negatable:""`:           {"", "only boolean flags"},
		`short:"ab"`:             {"", "short is a letter"},
		`sep:";"`:                {[]string{}, "sep is none"},
	} {
		fields := []reflect.StructField{{Name: "A", Type: reflect.TypeOf(one.value), Tag: tag}}
		if _, err := New("tool", "", reflect.New(reflect.StructOf(fields)).Interface()); err == nil || !strings.Contains(err.Error(), one.want) {
			t.Errorf("%s: error %v, want %q", tag, err, one.want)
		}
	}
	for want, command := range map[string]any{
		"not a pointer":                 standard{},
		"neither commands nor a method": new(proxyFlags),
		"two flags --shared": &struct {
			A, B sharedFlags `embed:""`
		}{},
	} {
		if _, err := New("tool", "", command); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%T: error %v, want %q", command, err, want)
		}
	}
}

// TestKebab checks the names of flags.
func TestKebab(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"BaseURL": "base-url", "JSON": "json", "ID": "id", "MaxBotsPerConsumer": "max-bots-per-consumer", "CPULimit": "cpu-limit", "DataDir": "data-dir"} {
		if got := kebab(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// FuzzParse checks that no arguments make the parser panic, and that it returns either
// a command, an error or neither.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"first\nhere\n--must\nm", "--force", "inner\nleaf", "first\n-H\na\n--hosts=,", "help\nfirst"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		app, err := New("tool", "A tool.", new(group))
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if got, err := app.Parse(strings.Split(text, "\n"), Terminal{Out: &out, Err: &out}); got != nil && err != nil {
			t.Errorf("%v and %v", got, err)
		}
	})
}
