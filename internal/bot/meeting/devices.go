package meeting

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Device is a device by which a bot is heard or seen.
type Device string

// The devices. The screen share is on while the bot shares its screen.
const (
	Microphone  Device = "microphone"
	Camera      Device = "camera"
	ScreenShare Device = "screen share"
)

// DeviceState is the state of a device, as the page shows it.
type DeviceState int

// The states of devices.
const (
	DeviceUnknown DeviceState = iota // the page shows no button for it
	DeviceOff
	DeviceOn
)

// deviceTimeout is how long a page may take to turn a device on or off.
const deviceTimeout = 5 * time.Second

var (
	// ErrNoDevice means that the page shows no button for a device.
	ErrNoDevice = errors.New("the page shows no button for it")
	// ErrDeviceRefused means that a device stayed off although its button was pressed, as
	// when the host does not allow it.
	ErrDeviceRefused = errors.New("the page does not allow it")
)

// deviceButton has the elements that are a device's button in both states. Where the button
// opens a menu, choice is the item of it that turns the device on.
type deviceButton struct{ on, off, choice string }

func (d Device) button() deviceButton {
	switch d {
	case Camera:
		return deviceButton{on: cameraOn, off: cameraOff}
	case ScreenShare:
		return deviceButton{on: stopSharing, off: shareScreen, choice: shareChoice}
	default:
		return deviceButton{on: microphoneOn, off: microphoneOff}
	}
}

// state returns the state of a device. Some profiles recognize an enabled camera as an
// enabled microphone, so the state off has priority; pages that share a screen may still
// offer to share one.
func (d Device) state(snapshot Snapshot) DeviceState {
	button := d.button()
	switch {
	case d == ScreenShare && snapshot.present(button.on):
		return DeviceOn
	case snapshot.present(button.off):
		return DeviceOff
	case snapshot.present(button.on):
		return DeviceOn
	}
	return DeviceUnknown
}

// keptDevices are the elements of the devices that were turned on, which are not turned
// off again as those that a page turns on by itself, and those whose buttons have no effect.
type keptDevices struct {
	mu       sync.Mutex
	elements []string
	presses  map[string]int // how often each was pressed in this call to turn its device off
}

// reset forgets an earlier call.
func (k *keptDevices) reset() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.elements, k.presses = nil, map[string]int{microphoneOn: 0, cameraOn: 0}
}

// press counts that an element is pressed, and reports whether it may be: those of devices up to maxTries times in a call.
func (k *keptDevices) press(element string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if times, counted := k.presses[element]; counted {
		k.presses[element] = times + 1
	}
	return k.presses[element] <= maxTries
}

// without returns elements without the kept ones. What looks like a microphone that is on
// may be the button of a kept camera.
func (k *keptDevices) without(elements []string) []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	kept := k.elements
	if slices.Contains(kept, cameraOn) {
		kept = append(slices.Clone(kept), microphoneOn)
	}
	return slices.DeleteFunc(elements, func(element string) bool {
		return slices.Contains(kept, element) || k.presses[element] >= maxTries
	})
}

// SetDevice implements Adapter.
func (s *site) SetDevice(ctx context.Context, page Page, device Device, on bool) error {
	button := device.button()
	s.kept.mu.Lock()
	s.kept.elements = slices.DeleteFunc(s.kept.elements, func(other string) bool { return other == button.on })
	if on {
		s.kept.elements = append(s.kept.elements, button.on)
	}
	s.kept.mu.Unlock()
	wanted, press := DeviceOff, button.on
	if on {
		wanted, press = DeviceOn, button.off
	}
	var pressedAt time.Time
	seen := DeviceUnknown
	timedOut, err := s.pollFor(ctx, page, deviceTimeout, func(ctx context.Context, snapshot Snapshot) (bool, error) {
		seen = device.state(snapshot)
		switch {
		case seen == wanted:
			return true, nil
		case on && button.choice != "" && snapshot.clickable(button.choice):
			return false, s.click(ctx, page, button.choice)
		case seen == DeviceUnknown || time.Since(pressedAt) < pressAgainTime || snapshot.Elements[press].Contradicted:
			return false, nil
		}
		pressedAt = time.Now()
		if snapshot.clickable(press) {
			return false, s.click(ctx, page, press)
		}
		return false, s.clickAnywhere(ctx, page, press)
	})
	switch {
	case timedOut && seen == DeviceUnknown:
		err = ErrNoDevice
	case timedOut:
		err = ErrDeviceRefused
	}
	if err != nil {
		return fmt.Errorf("turn the %s on (%t): %w", device, on, err)
	}
	return nil
}
