package deploy_test

import (
	"crypto/sha256"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"
	"go/version"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// templateModule has Go's template packages without calls of methods
// (docs/dependencies.md).
const templateModule = "github.com/DataDog/datadog-agent/pkg/template"

// templateGo is the release of Go that templateDifferences was recorded with.
const templateGo = "go1.26.8"

// templateDifferences has the declarations that differ between the module and
// templateGo, with a checksum of both and the reason.
var templateDifferences = map[string]string{
	// The types are aliases of those of Go, so that both packages can be used together.
	"text/template import html/template": "3d15d9daf36da818",
	"text/template type FuncMap":         "68920fa51b8d4ab2",
	"html/template import html/template": "3d15d9daf36da818",
	"html/template type CSS":             "8699bde0f8f22787",
	"html/template type HTML":            "f55170523ccf7b30",
	"html/template type HTMLAttr":        "8922128fe1be70a1",
	"html/template type JS":              "605641f2bdabe6bf",
	"html/template type JSStr":           "a054d182a78b2cb5",
	"html/template type Srcset":          "cc8be0b2d6a879fa",
	"html/template type URL":             "83f62562268643fd",

	// The settings of GODEBUG do not exist outside the standard library. The module always has the safe behavior.
	"html/template func godebugStub.IncNonDefault": "cfe8f063e963ffa9",
	"html/template func godebugStub.Value":         "7b9364e1ef9d35eb",
	"html/template import internal/godebug":        "50b272d601ffa405",
	"html/template type godebugStub":               "50c769403b0ac242",
	"html/template var debugAllowActionJSTmpl":     "fb81f9957a31debc",
	"html/template var htmlmetacontenturlescape":   "2277b6cdb1c0222c",

	// Fixes that the module has and templateGo lacks: the keyword yield, private names, properties that have the name of a
	// keyword, and the start of an expression in a template literal.
	"html/template func nextJSCtx":             "5f39daa26bd584e1",
	"html/template func tJS":                   "1dadbfae5194084d",
	"html/template func tJSTmpl":               "b25cf0328bf697f1",
	"html/template var regexpPrecederKeywords": "21cd619a6aaf61cc",

	// Methods of data cannot be called.
	"text/template func *state.evalField": "b97c62c26babefa5",
}

// TestTemplateModule: the template packages that render HTML are those of Go,
// except for known differences. Fixes in Go's packages fail it until the module
// has them too.
func TestTemplateModule(t *testing.T) {
	t.Parallel()
	goVersion, root := goOutput(t, "env", "GOVERSION"), goOutput(t, "env", "GOROOT")
	if version.Lang(goVersion) != version.Lang(templateGo) || version.Compare(goVersion, templateGo) < 0 {
		t.Skipf("%s is compared with %s and later patch releases, not with %s", templateModule, templateGo, goVersion)
	}
	module := goOutput(t, "list", "-m", "-f", "{{.Dir}}", templateModule)
	for dir, original := range map[string]string{"html": "html/template", "text": "text/template", "internal/fmtsort": "internal/fmtsort"} {
		theirs, ours := declarations(t, filepath.Join(module, dir)), declarations(t, filepath.Join(root, "src", original))
		names := maps.Clone(theirs)
		maps.Copy(names, ours)
		for _, name := range slices.Sorted(maps.Keys(names)) {
			key, sum := original+" "+name, checksum(ours[name], theirs[name])
			if theirs[name] != ours[name] && templateDifferences[key] != sum {
				t.Errorf("%q differs between %s and %s, checksum %q", key, goVersion, templateModule, sum)
			}
		}
	}
	if t.Failed() {
		t.Log("Compare the files in\n" + filepath.Join(root, "src") + " and\n" + module + "\n" +
			"If Go has changed, update the module: go get " + templateModule + "@latest\n" +
			"If it has no release with the change, or the new release differs for a good reason, set the checksums in templateDifferences and say why.")
	}
}

func checksum(texts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(texts, "\x00")))
	return fmt.Sprintf("%x", sum[:8])
}

// goOutput runs the go command.
func goOutput(t *testing.T, arguments ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", arguments...).Output()
	if err != nil {
		t.Fatalf("go %s: %v", strings.Join(arguments, " "), err)
	}
	return strings.TrimSpace(string(out))
}

// declarations returns the imports and declarations of a package, by name, without
// comments and spaces. Imports of the module have the names of Go's packages.
func declarations(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := make(map[string]string)
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no files in %s: %v", dir, err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, name, source, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		add := func(name string, node ast.Node) {
			found[name] += tokens(source[files.Position(node.Pos()).Offset:files.Position(node.End()).Offset])
		}
		for _, declaration := range file.Decls {
			switch declaration := declaration.(type) {
			case *ast.FuncDecl:
				name := declaration.Name.Name
				if declaration.Recv != nil {
					name = types.ExprString(declaration.Recv.List[0].Type) + "." + name
				}
				add("func "+name, declaration)
			case *ast.GenDecl:
				for _, spec := range declaration.Specs {
					switch spec := spec.(type) {
					case *ast.ImportSpec:
						path := strings.Trim(spec.Path.Value, `"`)
						path = strings.NewReplacer(templateModule+"/text", "text/template", templateModule+"/internal/", "internal/").Replace(path)
						found["import "+path] = "imported"
					case *ast.TypeSpec:
						add("type "+spec.Name.Name, spec)
					case *ast.ValueSpec:
						add(declaration.Tok.String()+" "+spec.Names[0].Name, spec)
					}
				}
			}
		}
	}
	return found
}

// tokens returns source code without comments, with single spaces.
func tokens(source []byte) string {
	var text scanner.Scanner
	files := token.NewFileSet()
	text.Init(files.AddFile("", files.Base(), len(source)), source, nil, 0)
	var words []string
	for {
		_, kind, literal := text.Scan()
		switch {
		case kind == token.EOF:
			return strings.Join(words, " ")
		case literal == "" || literal == "\n":
			words = append(words, kind.String())
		default:
			words = append(words, literal)
		}
	}
}
