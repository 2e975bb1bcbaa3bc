package dialguard

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// ownAddresses are the public addresses of this machine: those of its network
// interfaces, and those of its names. A connection to one of them reaches
// services that firewalls hide from the internet, because it does not leave the
// machine. The names matter where a router translates a public address to a
// private one of the machine.
type ownAddresses struct {
	mutex      sync.Mutex
	interfaces []netip.Addr
	named      []netip.Addr // the last known ones; nil before the names were resolved
	until      time.Time
}

// contains reports whether an address is this machine's own.
func (o *ownAddresses) contains(ctx context.Context, address netip.Addr, resolver *net.Resolver, hosts []string) (bool, error) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if now := time.Now(); now.After(o.until) {
		networks, err := net.InterfaceAddrs()
		if err != nil {
			return false, fmt.Errorf("list the addresses of this machine: %w", err)
		}
		var interfaces []netip.Addr
		for _, network := range networks {
			if prefix, err := netip.ParsePrefix(network.String()); err == nil {
				interfaces = append(interfaces, prefix.Addr().Unmap())
			}
		}
		named, err := lookupAll(ctx, resolver, hosts)
		switch {
		case err == nil:
			o.named = named
		case o.named == nil: // it could be any address
			return false, errors.New("the names of this machine cannot be resolved now")
		}
		if o.interfaces = interfaces; ctx.Err() == nil {
			o.until = now.Add(10 * time.Second)
		}
	}
	return slices.Contains(o.interfaces, address) || slices.Contains(o.named, address), nil
}

// lookupAll returns the addresses of all hosts. Names that do not exist have none.
func lookupAll(ctx context.Context, resolver *net.Resolver, hosts []string) ([]netip.Addr, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	addresses := []netip.Addr{}
	for _, host := range hosts {
		found, err := resolver.LookupNetIP(ctx, "ip", host)
		unknown, ok := errors.AsType[*net.DNSError](err)
		if err != nil && (!ok || !unknown.IsNotFound) {
			return nil, err
		}
		for _, address := range found {
			addresses = append(addresses, address.Unmap())
		}
	}
	return addresses, nil
}
