package meeting

import (
	"fmt"

	"standin/internal/job"
)

// platforms returns the platforms that have an adapter.
func platforms() []platform { return []platform{meet(), teams(), zoom()} }

// New returns the adapter of a platform. The error is an
// *UnsupportedPlatformError when there is none.
func New(name job.Platform, profiles Profiles) (Adapter, error) {
	found, err := platformOf(name)
	if err != nil {
		return nil, err
	}
	profile, ok := profiles[name]
	if !ok {
		return nil, fmt.Errorf("no profile for platform %q is loaded", name)
	}
	return newSite(found, profile)
}

// platformOf returns the platform of a name.
func platformOf(name job.Platform) (platform, error) {
	unsupported := &UnsupportedPlatformError{Platform: name}
	for _, known := range platforms() {
		if known.name == name {
			return known, nil
		}
		unsupported.Supported = append(unsupported.Supported, known.name)
	}
	return platform{}, unsupported
}
