package fsutil_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"standin/internal/base/fsutil"
)

func TestMkdirAll(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		before []string // directories and files that exist, in the order of creation
		want   []string // directories that are synced
	}{
		"everything is new":           {nil, []string{".", "a", "a/b"}},
		"a parent exists":             {[]string{"a/", "a/file"}, []string{"a", "a/b"}},
		"a parent is empty":           {[]string{"a/"}, []string{".", "a", "a/b"}},
		"the directory is empty":      {[]string{"a/", "a/b/", "a/b/c/"}, []string{"a/b"}},
		"the directory has something": {[]string{"a/", "a/b/", "a/b/c/", "a/b/c/file"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			if err := os.WriteFile(filepath.Join(root, "other"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			for _, path := range test.before {
				var err error
				if full := filepath.Join(root, path); path[len(path)-1] == '/' {
					err = os.Mkdir(full, 0o700)
				} else {
					err = os.WriteFile(full, nil, 0o600)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			var synced []string
			err := fsutil.MkdirAll(filepath.Join(root, "a", "b", "c"), 0o700, func(path string) error {
				relative, err := filepath.Rel(root, path)
				synced = append(synced, filepath.ToSlash(relative))
				return errors.Join(err, fsutil.Sync(path))
			})
			if err != nil || !slices.Equal(synced, test.want) {
				t.Errorf("synced %q, %v; want %q", synced, err, test.want)
			}
			if info, err := os.Stat(filepath.Join(root, "a", "b", "c")); err != nil || !info.IsDir() {
				t.Errorf("the directory was not created: %v", err)
			}
		})
	}
}

func TestMkdirAllBelowFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, filepath.Join(file, "below")} {
		if err := fsutil.MkdirAll(path, 0o700, fsutil.Sync); err == nil {
			t.Errorf("MkdirAll(%s) returned no error", path)
		}
	}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, copied := filepath.Join(dir, "file"), filepath.Join(dir, "copy")
	for _, content := range []string{"a much longer text", "hello"} {
		if err := errors.Join(fsutil.WriteFile(path, []byte(content)), fsutil.CopyFile(path, copied)); err != nil {
			t.Fatal(err)
		}
	}
	const sum = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
	for _, name := range []string{path, copied} {
		if size, got, err := fsutil.HashFile(name); size != 5 || got != sum || err != nil {
			t.Errorf("HashFile(%s) = %d, %s, %v", name, size, got, err)
		}
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("mode of %s: %v, %v", name, info.Mode(), err)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("the directory contains %v, %v", entries, err)
	}
	if _, _, err := fsutil.HashFile(dir); err == nil {
		t.Error("HashFile of a directory returned no error")
	}
}

func TestLock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	first, err := fsutil.TryLock(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fsutil.TryLock(path); !errors.Is(err, fsutil.ErrLocked) {
		t.Errorf("locked twice: %v", err)
	}
	waited := make(chan error, 1)
	go func() {
		second, err := fsutil.Lock(path)
		if err == nil {
			err = second.Close()
		}
		waited <- err
	}()
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-waited; err != nil {
		t.Errorf("wait for the lock: %v", err)
	}
}
