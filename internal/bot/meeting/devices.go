package meeting

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// DeviceState is the state of the microphone or camera, as the page shows it.
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

// deviceButton is a device with the elements that are its button in both states.
type deviceButton struct{ name, on, off string }

func microphoneButton() deviceButton { return deviceButton{"microphone", microphoneOn, microphoneOff} }

// state returns the state of a device. Some profiles recognize an enabled camera as an
// enabled microphone, so the state off has priority.
func (d deviceButton) state(snapshot Snapshot) DeviceState {
	switch {
	case snapshot.present(d.off):
		return DeviceOff
	case snapshot.present(d.on):
		return DeviceOn
	}
	return DeviceUnknown
}

// keptDevices are the elements of the devices that were turned on, which are not turned
// off again as those that a page turns on by itself.
type keptDevices struct {
	mu       sync.Mutex
	elements []string
}

func (k *keptDevices) set(element string, kept bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.elements = slices.DeleteFunc(k.elements, func(other string) bool { return other == element })
	if kept {
		k.elements = append(k.elements, element)
	}
}

// without returns elements without the kept ones.
func (k *keptDevices) without(elements []string) []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.DeleteFunc(elements, func(element string) bool { return slices.Contains(k.elements, element) })
}

// SetMicrophone implements Adapter.
func (s *site) SetMicrophone(ctx context.Context, page Page, on bool) error {
	return s.setDevice(ctx, page, microphoneButton(), on)
}

// setDevice presses the button of a device unless the device is in the wanted state.
func (s *site) setDevice(ctx context.Context, page Page, device deviceButton, on bool) error {
	s.kept.set(device.on, on)
	wanted, press := DeviceOff, device.on
	if on {
		wanted, press = DeviceOn, device.off
	}
	waiting, cancel := context.WithTimeout(ctx, deviceTimeout)
	defer cancel()
	var pressedAt time.Time
	seen := DeviceUnknown
	err := s.poll(waiting, page, func(snapshot Snapshot) (bool, error) {
		seen = device.state(snapshot)
		switch {
		case seen == wanted:
			return true, nil
		case seen == DeviceUnknown || time.Since(pressedAt) < pressAgainTime:
			return false, nil
		}
		pressedAt = time.Now()
		if snapshot.clickable(press) {
			return false, s.click(waiting, page, press)
		}
		return false, s.clickAnywhere(waiting, page, press)
	})
	if err != nil && ctx.Err() == nil && waiting.Err() != nil {
		err = ErrDeviceRefused
		if seen == DeviceUnknown {
			err = ErrNoDevice
		}
	}
	if err != nil {
		return fmt.Errorf("turn the %s on (%t): %w", device.name, on, err)
	}
	return nil
}
