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
	if _, err := platformOf(name); err != nil {
		return nil, err
	}
	profile, ok := profiles[name]
	if !ok {
		return nil, fmt.Errorf("no profile for platform %q is loaded", name)
	}
	return NewForProfile(profile, "")
}

// NewForProfile returns the adapter of the profile's platform. ownName is the
// name under which the bot is in the meeting when another program joined it;
// Join sets it too.
func NewForProfile(profile *Profile, ownName string) (Adapter, error) {
	found, err := platformOf(profile.Platform)
	if err != nil {
		return nil, err
	}
	s, err := newSite(found, profile)
	if err != nil {
		return nil, err
	}
	s.visit.setName(Truncate(SingleLine(ownName), profile.Limits.Name))
	return s, nil
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
