package zoneinfo_test

import (
	"os/exec"
	"regexp"
	"testing"
	"time"

	"standin/internal/base/zoneinfo"
)

// The clocks of these zones changed in 2026, or did not change any more.
func TestLoad(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"America/Vancouver": "-07:00", "America/Edmonton": "-06:00", "America/Inuvik": "-06:00", "Africa/Casablanca": "+00:00",
		"America/Havana": "-04:00", "Europe/Berlin": "+01:00", "UTC": "+00:00",
	} {
		location, err := zoneinfo.Load(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := time.Date(2026, 12, 8, 10, 0, 0, 0, location).Format("-07:00")
		if got != want || location.String() != name {
			t.Errorf("%s (%s): %s, want %s", name, location, got, want)
		}
	}
	for _, name := range []string{"RELEASE", "Europe/Nowhere", "../Europe/Berlin", "Europe", ""} {
		if location, err := zoneinfo.Load(name); err == nil {
			t.Errorf("%q is %v", name, location)
		}
	}
}

// TestIsCurrent fails when the packages of the machine have newer time zones than the
// binary. CI runs it with new package lists each night.
func TestIsCurrent(t *testing.T) {
	t.Parallel()
	current := zoneinfo.Current()
	if current.System {
		t.Errorf("the system has time zones of %s: run scripts/vendor-tzdata.sh", current.Version)
	}
	offered, err := exec.CommandContext(t.Context(), "apt-cache", "policy", "tzdata").Output()
	if err != nil {
		t.Skip("no package lists: ", err)
	}
	versions := regexp.MustCompile(`\b20\d\d[a-z]\b`).FindAllString(string(offered), -1)
	if len(versions) == 0 {
		t.Errorf("apt-cache policy tzdata has no version: %s", offered)
	}
	for _, version := range versions {
		if version > current.Version {
			t.Fatalf("a package has time zones of %s, the binary of %s: run scripts/vendor-tzdata.sh", version, current.Version)
		}
	}
}
