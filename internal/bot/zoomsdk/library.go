package zoomsdk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

const (
	// scriptPrefix and scriptSuffix surround the version in the name of the SDK's
	// script. The package's other script, zoomus-websdk.umd.min.js, is for
	// bundlers; a page that loads it lacks React.
	scriptPrefix = "zoom-meeting-"
	scriptSuffix = ".min.js"
	// embeddedMark is in the file names of the SDK's component view, which is not
	// a whole page.
	embeddedMark = "embedded"

	// distDir holds everything that the page loads.
	distDir = "dist"
	// libraryDir is the SDK's library folder.
	libraryDir = distDir + "/lib"
	// mediaScript is the part of the library that plays sound.
	mediaScript = libraryDir + "/av/js_media.min.js"
)

// library is the operator's copy of the SDK. Files outside its folder cannot be
// reached through it, not even by symbolic links.
type library struct {
	root    *os.Root
	version string
	scripts []string // paths in the folder, in the order of loading
}

// openLibrary opens the folder of the SDK's npm package, which holds dist.
func openLibrary(dir string) (*library, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	lib := &library{root: root}
	if err := lib.find(); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return lib, nil
}

// find lists the scripts and checks that they can be read.
func (l *library) find() error {
	entries, err := fs.ReadDir(l.root.FS(), distDir)
	if err != nil {
		return fmt.Errorf("find the SDK's script: %w", err)
	}
	var scripts []string
	for _, entry := range entries {
		name := entry.Name()
		if strings.HasPrefix(name, scriptPrefix) && strings.HasSuffix(name, scriptSuffix) && !strings.Contains(name, embeddedMark) {
			scripts = append(scripts, name)
		}
	}
	switch len(scripts) {
	case 1:
	case 0:
		return fmt.Errorf("it holds no %s/%s<version>%s", distDir, scriptPrefix, scriptSuffix)
	default:
		return fmt.Errorf("it holds several versions: %s", strings.Join(scripts, ", "))
	}
	l.version = strings.TrimSuffix(strings.TrimPrefix(scripts[0], scriptPrefix), scriptSuffix)
	// The SDK's script needs these, in the order of loading.
	for _, name := range []string{"react.min.js", "react-dom.min.js", "redux.min.js", "redux-thunk.min.js", "lodash.min.js"} {
		l.scripts = append(l.scripts, path.Join(libraryDir, "vendor", name))
	}
	l.scripts = append(l.scripts, path.Join(distDir, scripts[0]))
	for _, name := range append(slices.Clone(l.scripts), mediaScript) {
		if err := l.readable(name); err != nil {
			return err
		}
	}
	return nil
}

// readable checks that a file can be read.
func (l *library) readable(name string) error {
	file, err := l.root.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a file", name)
	}
	return nil
}

// Close closes the folder.
func (l *library) Close() error { return l.root.Close() }
