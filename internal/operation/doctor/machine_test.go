package doctor

import (
	"os"
	"path/filepath"
	"testing"

	"standin/internal/operation/host"
	"standin/internal/server/service"
)

func TestDataFolder(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	make := func(name string, mode os.FileMode) string {
		t.Helper()
		path := filepath.Join(folder, name)
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	file := filepath.Join(folder, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	private, open, sealed := make("private", 0o700), make("open", 0o755), make("sealed", 0o500)
	untouched(t, folder)

	check := func(dir string) Check {
		return checkDataDir(Settings{DataSettings: service.DataSettings{DataDir: dir}})
	}
	expect(t, check(filepath.Join(folder, "a", "b")), OK, "does not exist yet")
	expect(t, check(private), OK, "by its owner only")
	expect(t, check(open), Warn, "0755", "chmod 700 "+open)
	expect(t, check(file), Fail, "not a folder")
	expect(t, check(filepath.Join(file, "below")), Fail)
	if os.Geteuid() == 0 {
		return // no mode restricts root
	}
	expect(t, check(sealed), Fail, "not writable", "chown")
	expect(t, check(filepath.Join(sealed, "below")), Fail, "cannot be created")
}

func TestDiskAndMemory(t *testing.T) {
	t.Parallel()
	for free, state := range map[float64]State{0.9: Fail, 1: Warn, 9.9: Warn, 10: OK} {
		check := evaluateDisk(&host.Disk{FreeGB: free, UsedPct: 50})
		expect(t, check, state, "GB free", "50 % used")
	}
	expect(t, evaluateDisk(nil), Warn, "cannot be read")
	for free, state := range map[float64]State{500: Fail, 512: Warn, 1500: Warn, 1536: OK} {
		check := evaluateMemory(&host.RAM{TotalMB: 8000, Used: 8000 - free})
		expect(t, check, state, "of 8000 MB")
	}
	expect(t, evaluateMemory(nil), Warn, "cannot be read")
}
