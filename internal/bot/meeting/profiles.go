package meeting

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"standin/internal/jobs/job"
)

// embedded holds the built-in profiles.
//
//go:embed profiles/*.yaml
var embedded embed.FS

// Profiles holds one profile per platform.
type Profiles map[job.Platform]*Profile

// wordsName is the name of the file in the operator's folder that replaces words.yaml.
const wordsName = "words.yaml"

// Load returns the built-in profiles, each replaced by the operator's profile of
// the same platform, if the folder holds one in a *.yaml or *.yml file. Its words.yaml
// replaces the words of all of them, in the whole process. An empty
// folder name means that there is none.
func Load(folder string) (Profiles, error) {
	if folder == "" {
		return Embedded()
	}
	source := folder + string(os.PathSeparator)
	text, err := os.ReadFile(source + wordsName)
	hasWords := err == nil
	if hasWords {
		own, err := parseWords(source+wordsName, text)
		if err != nil {
			return nil, err
		}
		operatorWords.Store(own)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the words: %w", err)
	}
	profiles, err := Embedded()
	if err != nil {
		return nil, err
	}
	own, err := readProfiles(os.DirFS(folder), source)
	if err != nil {
		return nil, err
	}
	// A folder without profiles is a mistake, unless it holds another folder:
	// package notetaker reads one.
	if entries, err := os.ReadDir(folder); len(own) == 0 && !hasWords && (err != nil || !slices.ContainsFunc(entries, fs.DirEntry.IsDir)) {
		return nil, fmt.Errorf("the profiles folder %s holds no *.yaml file", folder)
	}
	maps.Copy(profiles, own)
	return profiles, nil
}

// Embedded returns the built-in profiles.
func Embedded() (Profiles, error) {
	files, err := fs.Sub(embedded, "profiles")
	if err != nil {
		return nil, fmt.Errorf("open the embedded profiles: %w", err)
	}
	return readProfiles(files, "embedded/")
}

// readProfiles reads every profile in the top folder of a file system. prefix
// precedes file names in errors. The error lists the mistakes of all files.
func readProfiles(files fs.FS, prefix string) (Profiles, error) {
	entries, err := fs.ReadDir(files, ".")
	if err != nil {
		return nil, fmt.Errorf("read the profiles folder: %w", err)
	}
	profiles := make(Profiles)
	var issues []error
	for _, entry := range entries {
		if entry.IsDir() || entry.Name() == wordsName || !slices.Contains([]string{".yaml", ".yml"}, path.Ext(entry.Name())) {
			continue
		}
		profile, err := readProfile(files, entry.Name(), prefix)
		if err != nil {
			issues = append(issues, err)
			continue
		}
		if other, exists := profiles[profile.Platform]; exists {
			issues = append(issues, fmt.Errorf("profile %s: platform %q already has a profile, %s",
				profile.source, profile.Platform, other.source))
		}
		profiles[profile.Platform] = profile
	}
	if len(issues) > 0 {
		return nil, errors.Join(issues...)
	}
	return profiles, nil
}

// readProfile reads one file, up to the size limit of a profile.
func readProfile(files fs.FS, name, prefix string) (_ *Profile, err error) {
	file, err := files.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read a profile: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	data, err := io.ReadAll(io.LimitReader(file, maxProfileBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read profile %s: %w", prefix+name, err)
	}
	return ParseProfile(prefix+name, data)
}

// maxProfileBytes limits the size of a profile file.
const maxProfileBytes = 256 << 10

// ParseProfile reads and checks a profile. source names the file in errors.
func ParseProfile(source string, data []byte) (*Profile, error) {
	if len(data) > maxProfileBytes {
		return nil, fmt.Errorf("profile %s: larger than %d bytes", source, maxProfileBytes)
	}
	profile := &Profile{source: source, text: data}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	if err := decoder.Decode(profile); err != nil {
		return nil, fmt.Errorf("profile %s: %w", source, err)
	}
	if err := decoder.Decode(new(Profile)); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("profile %s: more than one document", source)
	}
	for path, rules := range profile.rules() {
		for i := range rules {
			rules[i].path = fmt.Sprintf("%s[%d]", path, i)
			for j := range rules[i].Text {
				rules[i].Text[j].key = fmt.Sprintf("%s.text[%d]", rules[i].path, j)
			}
		}
	}
	if issues := checkProfile(profile); len(issues) > 0 {
		return nil, fmt.Errorf("profile %s: %s", source, strings.Join(issues, "; "))
	}
	// The candidates of words.yaml come after the profile's own. What stays in the picture, where the profile keeps
	// anything, are recording notices too.
	for name, candidates := range knownWords().Candidates {
		if _, defined := profile.Elements[name]; defined {
			profile.Elements[name] = append(profile.Elements[name], candidates...)
		}
	}
	if len(profile.Picture.Kept) > 0 {
		profile.Picture.Kept = append(profile.Picture.Kept, Candidate{
			CSS: `[role="status"], [role="alert"]`, Text: &TextMatch{Contains: slices.Concat(slices.Concat(knownWords().Dialogs.Recorded...)...)},
		})
	}
	return profile, nil
}
