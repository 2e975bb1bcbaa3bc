package meeting

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"

	"standin/internal/job"
)

// embedded holds the profiles that Standin ships.
//
//go:embed profiles/*.yaml
var embedded embed.FS

// Profiles holds one profile for each platform.
type Profiles map[job.Platform]*Profile

// Embedded returns the profiles that Standin ships.
func Embedded() (Profiles, error) {
	files, err := fs.Sub(embedded, "profiles")
	if err != nil {
		return nil, fmt.Errorf("opening the embedded profiles: %w", err)
	}
	return readProfiles(files, "embedded/")
}

// Load returns the embedded profiles, replaced platform by platform by the
// files *.yaml and *.yml in the operator's folder. An empty folder name means
// that there is none.
func Load(folder string) (Profiles, error) {
	profiles, err := Embedded()
	if err != nil || folder == "" {
		return profiles, err
	}
	replacing, err := readProfiles(os.DirFS(folder), folder+string(os.PathSeparator))
	if err != nil {
		return nil, err
	}
	if entries, err := os.ReadDir(folder); len(replacing) == 0 && (err != nil || !slices.ContainsFunc(entries, fs.DirEntry.IsDir)) {
		// A folder below it may hold what others replace.
		return nil, fmt.Errorf("the profiles folder %s holds no *.yaml file", folder)
	}
	for platform, profile := range replacing {
		profiles[platform] = profile
	}
	return profiles, nil
}

// readProfiles reads every profile in the top of a file system. The prefix
// stands before file names in errors. All that is wrong is in the error.
func readProfiles(files fs.FS, prefix string) (Profiles, error) {
	entries, err := fs.ReadDir(files, ".")
	if err != nil {
		return nil, fmt.Errorf("reading the profiles folder: %w", err)
	}
	profiles := make(Profiles)
	var issues []error
	for _, entry := range entries {
		if entry.IsDir() || !slices.Contains([]string{".yaml", ".yml"}, path.Ext(entry.Name())) {
			continue
		}
		profile, err := readProfile(files, entry.Name(), prefix)
		if err != nil {
			issues = append(issues, err)
			continue
		}
		if other, twice := profiles[profile.Platform]; twice {
			issues = append(issues, fmt.Errorf("profile %s: platform %q has a profile already, %s",
				profile.source, profile.Platform, other.source))
		}
		profiles[profile.Platform] = profile
	}
	if len(issues) > 0 {
		return nil, errors.Join(issues...)
	}
	return profiles, nil
}

// readProfile reads one file, no more of it than a profile may hold.
func readProfile(files fs.FS, name, prefix string) (_ *Profile, err error) {
	file, err := files.Open(name)
	if err != nil {
		return nil, fmt.Errorf("reading a profile: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	data, err := io.ReadAll(io.LimitReader(file, maxProfileBytes+1))
	if err != nil {
		return nil, fmt.Errorf("reading profile %s: %w", prefix+name, err)
	}
	return parseProfile(prefix+name, data)
}
